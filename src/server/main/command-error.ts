// A command that was given wrongly or cannot be done here; the message is for the operator at the terminal.

export class CommandError extends Error {
  override readonly name = "CommandError";
}
