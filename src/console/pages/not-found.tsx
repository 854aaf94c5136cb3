// Any address that is no page (requirements B2).
import { useNavigate } from "react-router";
import { GuestFrame } from "#console/ui/guest-frame.tsx";
import { Notice } from "#console/ui/notice.tsx";
import { LinkButton, PlainButton } from "#console/ui/plain-button.tsx";

export function NotFoundPage() {
  const navigate = useNavigate();
  return (
    <GuestFrame title="页面不存在" isCentred>
      <Notice sign="404" title="页面不存在" text="请检查你的浏览器地址是否正确。">
        <PlainButton onClick={() => void navigate(-1)}>返回上一页</PlainButton>
        <LinkButton to="/" kind="primary">
          回到首页
        </LinkButton>
      </Notice>
    </GuestFrame>
  );
}
