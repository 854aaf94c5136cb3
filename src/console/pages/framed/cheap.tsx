// The operator's special offers.
import { useStatus } from "#console/base/status.ts";
import { FramePage } from "#console/ui/frame-page.tsx";
import { LinkButton } from "#console/ui/plain-button.tsx";

export function CheapPage() {
  return (
    <FramePage title="特惠套餐" link={useStatus()?.cheap_link} option="特惠套餐页面链接">
      <LinkButton to="/topup">查看充值额度</LinkButton>
    </FramePage>
  );
}
