// Says that the server has no address: what providers tell us, and payers' way back, are made of it.
import { Link } from "react-router";
import { useStatus } from "#console/base/status.ts";
import { Callout } from "#console/ui/callout.tsx";

export function NoAddress() {
  if (useStatus()?.server_address !== "") return null;
  return (
    <Callout tone="warn">
      尚未设置服务器地址：支付平台无法通知本站，用户也不能在线下单。请先在
      <Link to="/setting?tab=system">系统设置</Link>中填写。
    </Callout>
  );
}
