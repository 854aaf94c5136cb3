// The chat client that the operator linked to. No key of the visitor is put into its address (reliability H08).
import { useStatus } from "#console/base/status.ts";
import { FramePage } from "#console/ui/frame-page.tsx";

export function ChatPage() {
  return <FramePage title="聊天" link={useStatus()?.chat_link} option="聊天页面链接" />;
}
