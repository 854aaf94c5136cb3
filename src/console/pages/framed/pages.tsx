// The pages of other sites that the operator linked to, each with what helps a visitor while there is no link.
import { useUser } from "#console/base/session.ts";
import { useStatus } from "#console/base/status.ts";
import { FramePage } from "#console/ui/frame-page.tsx";
import { LinkButton } from "#console/ui/plain-button.tsx";

/** No key of the visitor is put into the address of the chat client (requirements H08). */
export function ChatPage() {
  const [to, text] = useUser() === undefined ? ["/", "回到首页"] : ["/playground", "去操练场试试"];
  return (
    <FramePage title="聊天" link={useStatus()?.chat_link} option="聊天页面链接">
      <LinkButton to={to}>{text}</LinkButton>
    </FramePage>
  );
}

export function DocsPage() {
  return (
    <FramePage title="文档" link={useStatus()?.docs_link} option="文档页面链接">
      <LinkButton to="/">查看调用示例</LinkButton>
      <LinkButton to="/api/docs" reloadDocument>
        管理接口文档
      </LinkButton>
    </FramePage>
  );
}

export function PricingPage() {
  return (
    <FramePage title="价格" link={useStatus()?.pricing_link} option="价格页面链接">
      <LinkButton to="/topup">查看充值额度</LinkButton>
    </FramePage>
  );
}

export function CheapPage() {
  return (
    <FramePage title="特惠套餐" link={useStatus()?.cheap_link} option="特惠套餐页面链接">
      <LinkButton to="/topup">查看充值额度</LinkButton>
    </FramePage>
  );
}
