// The base address that clients need, ready to copy.
import { useServerAddress } from "#console/base/status.ts";
import { CopyButton } from "./copy-button.tsx";
import "./address-bar.css";

export function AddressBar() {
  const address = `${useServerAddress()}/v1`;
  return (
    <div className="tg-address-bar">
      <span>接口地址</span>
      <code className="tg-code">{address}</code>
      <CopyButton text={address} label="复制接口地址" />
      <span className="tg-address-note">兼容 OpenAI 接口，把客户端的 Base URL 换成它即可</span>
    </div>
  );
}
