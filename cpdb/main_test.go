package main

import (
	"database/sql"
	"fmt"
	"os"
	"testing"

	_ "github.com/mattn/go-sqlite3"
	"github.com/rogpeppe/go-internal/testscript"

	"agentfs.internal/tool/scenario"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"cpdb": main,
		"sql":  runSQL,
	})
}

func TestScenarios(t *testing.T) { testscript.Run(t, scenario.Params("testdata")) }

// runSQL stands for a person with the sqlite3 shell: sql FILE STATEMENT.
func runSQL() {
	db, err := sql.Open("sqlite3", os.Args[1])
	if err == nil {
		_, err = db.Exec(os.Args[2])
	}
	if err == nil {
		err = db.Close() // the last one to close folds the log into the file
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
