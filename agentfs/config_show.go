package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"agentfs.internal/tool/command"
	"agentfs.internal/tool/size"
)

func (a *app) configVerb() *command.Verb {
	return &command.Verb{
		Name:  "config",
		Short: "show the settings in force, and where each comes from",
		Long: `
They stand in config.toml in the home directory, which need not be there:

` + a.configManual() + `
AGENTFS_CHECKPOINTS_KEEP_COUNT in the environment stands above checkpoints.keep_count,
and so for all keys. A key that is none and a bad value are named with their line (status 2).`,
		Run: a.showConfig,
	}
}

// configManual lists the keys with the values that they take.
func (a *app) configManual() string {
	var rows [][]string
	for _, k := range a.configKeys(&config{}) {
		rows = append(rows, []string{"  " + k.name, k.want})
	}
	return strings.Join(append(table(rows), ""), "\n")
}

// inForce is a setting as config --json shows it.
type inForce struct {
	Key   string `json:"key"`
	Value any    `json:"value"`
	From  string `json:"from"`           // "default", "config.toml", or the flag or variable
	Line  int    `json:"line,omitempty"` // of config.toml
}

func (a *app) showConfig(context.Context, command.IO, []string) error {
	c, err := a.readConfig()
	if err != nil {
		return err
	}
	list := []inForce{{Key: "home", Value: a.home, From: a.homeSet}}
	for _, k := range a.configKeys(&c) {
		s := inForce{Key: k.name, Value: k.get(), From: "default"}
		if at, set := c.from[k.name]; set {
			s.From, s.Line = cmp.Or(at.variable, "config.toml"), at.line
		}
		list = append(list, s)
	}
	rows := [][]string{{"KEY", "VALUE", "FROM"}}
	for i, s := range list {
		from := s.From
		if s.Line > 0 {
			from = fmt.Sprintf("%s:%d", s.From, s.Line)
		}
		rows = append(rows, []string{s.Key, configText(s.Value), from})
		if d, ok := s.Value.(time.Duration); ok {
			list[i].Value = d.String()
		}
	}
	return a.result(list, table(rows)...)
}

// configText is a value in force for people.
func configText(v any) string {
	switch v := v.(type) {
	case string:
		if v == "" {
			return "-"
		}
		return visible(tilde(v))
	case int64:
		return size.Format(v)
	case []string:
		if len(v) == 0 {
			return "-"
		}
		return visible(strings.Join(v, ", "))
	default:
		return fmt.Sprint(v)
	}
}
