// Written by 'agentfs-hook install opencode'; 'agentfs-hook uninstall opencode' removes it.
// A checkpoint for each prompt, before and after each tool, and at the end of a turn.
import { spawn } from "node:child_process"

const command = "agentfs-hook"
const limit = 10_000 // milliseconds that a tool waits at most

// tell never throws and never rejects: what goes wrong here must not be noticed there.
const tell = (cwd, event) =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, limit)
    const done = () => (clearTimeout(timer), resolve())
    try {
      const hook = spawn(command, ["opencode"], { cwd, stdio: ["pipe", "ignore", "ignore"] })
      hook.on("error", done)
      hook.on("close", done)
      hook.stdin.on("error", () => {})
      hook.stdin.end(JSON.stringify({ cwd, ...event }))
    } catch {
      done()
    }
  })

const textOf = (parts) =>
  Array.isArray(parts) ? parts.filter((p) => p?.type === "text" && !p.synthetic).map((p) => p.text).join("\n") : ""

export const AgentFS = async ({ directory }) => {
  const tool = (name) => (input) =>
    tell(directory, { hook_event_name: name, session_id: input?.sessionID, tool_name: input?.tool, tool_use_id: input?.callID })
  return {
    "chat.message": (input, output) =>
      tell(directory, { hook_event_name: "chat.message", session_id: input?.sessionID, prompt_id: input?.messageID, prompt: textOf(output?.parts) }),
    "tool.execute.before": tool("tool.execute.before"),
    "tool.execute.after": tool("tool.execute.after"),
    event: async ({ event }) => {
      if (event?.type === "session.idle") {
        await tell(directory, { hook_event_name: "session.idle", session_id: event.properties?.sessionID })
      }
    },
  }
}
