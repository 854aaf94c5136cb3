// Copying to the clipboard. Success is never assumed: the page shows the text where it can be selected (requirements B8).
import { messages } from "./faults.ts";
import { toast } from "./toast.ts";

/** Copies text; tells the user how it went. Returns whether it worked. */
export async function copyText(text: string, done = "已复制到剪贴板！"): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    toast.success(done);
    return true;
  } catch {
    // Insecure origins and refused permissions have no clipboard.
    toast.warning(messages.clipboard);
    return false;
  }
}
