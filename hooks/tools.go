package main

import "strings"

// readers are the tools that change no file by themselves, in lower case and without
// underscores, of all the agents together. Every other one counts as one that writes: a
// checkpoint that was not needed costs ten milliseconds, one that is missing the work.
// An agent's own agents are here because their tools have events of their own.
var readers = map[string]bool{
	"read": true, "grep": true, "glob": true, "ls": true, "list": true, "lsp": true, "notebookread": true,
	"webfetch": true, "websearch": true, "fetch": true, "codesearch": true, "semanticsearch": true,
	"todowrite": true, "todoread": true, "writetodos": true, "updateplan": true, "createplan": true,
	"task": true, "agent": true, "skill": true, "toolsearch": true,
	"taskcreate": true, "taskget": true, "tasklist": true, "taskupdate": true, "taskoutput": true, "taskstop": true,
	"bashoutput": true, "killshell": true, "askuserquestion": true, "question": true, "askuser": true, "askquestion": true,
	"enterplanmode": true, "exitplanmode": true, "sendmessage": true,
	"listmcpresources": true, "readmcpresource": true, "listmcpresourcestool": true, "readmcpresourcetool": true,
	"readfile": true, "readmanyfiles": true, "listdirectory": true, "searchfilecontent": true, "grepsearch": true,
	"googlewebsearch": true, "filesearch": true, "readlints": true,
	"viewimage": true, "listdir": true, "grepfiles": true, "requestuserinput": true,
	"spawnagent": true, "waitagent": true, "wait": true, "sendinput": true, "closeagent": true,
}

func writes(tool string) bool {
	return tool != "" && !readers[strings.ReplaceAll(strings.ToLower(tool), "_", "")]
}

// writers gives the tools of an event that may write, each once.
func writers(in input) []string {
	var found []string
	add := func(tool string) {
		for _, have := range found {
			if have == tool {
				return
			}
		}
		if writes(tool) {
			found = append(found, tool)
		}
	}
	add(clean(toolOf(in), maxID))
	for _, call := range in.Calls {
		add(clean(call.Tool, maxID))
	}
	return found
}

// toolOf gives the tool of an event; some events of Cursor are about one tool only, and
// do not name it.
func toolOf(in input) string {
	switch in.Event {
	case "beforeShellExecution", "afterShellExecution":
		return "Shell"
	case "afterFileEdit":
		return "Edit"
	case "beforeMCPExecution", "afterMCPExecution":
		return "MCP:" + in.Tool
	}
	return in.Tool
}
