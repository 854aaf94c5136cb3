// Stands in for a page that failed to load or to draw: usually a chunk of an older version that is gone.
import { GuestFrame } from "./guest-frame.tsx";
import { Notice } from "./notice.tsx";
import { PlainButton } from "./plain-button.tsx";

export function RouteFault() {
  return (
    <GuestFrame title="页面加载失败" isCentred>
      <Notice title="页面加载失败" text="可能是网络中断，或控制台刚刚更新。重新加载通常可以解决。">
        <PlainButton kind="primary" onClick={() => window.location.reload()}>
          重新加载
        </PlainButton>
      </Notice>
    </GuestFrame>
  );
}
