// The operator's price list.
import { useStatus } from "#console/base/status.ts";
import { FramePage } from "#console/ui/frame-page.tsx";
import { LinkButton } from "#console/ui/plain-button.tsx";

export function PricingPage() {
  return (
    <FramePage title="价格" link={useStatus()?.pricing_link} option="价格页面链接">
      <LinkButton to="/topup">查看充值额度</LinkButton>
    </FramePage>
  );
}
