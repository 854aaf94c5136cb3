// The footer: what the operator wrote, or the default line.
import { useStatus, useSystemName } from "#console/base/status.ts";
import { readStored } from "#console/base/storage.ts";
import { SafeHtml } from "#console/ui/safe-html.tsx";
import "./footer.css";

export function Footer() {
  const status = useStatus();
  const name = useSystemName();
  const html = status?.footer_html ?? readStored("footer_html") ?? "";
  return (
    <footer className="tg-footer">
      {html === "" ? (
        <span>
          {name} {status?.version ?? __APP_VERSION__} · 大模型接口网关与密钥管理
        </span>
      ) : (
        <SafeHtml html={html} />
      )}
    </footer>
  );
}
