module agentfs.internal/treediff

go 1.26.0

require github.com/pmezard/go-difflib v1.0.0

replace agentfs.internal/tool => ../tool
