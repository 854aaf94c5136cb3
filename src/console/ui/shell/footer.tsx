// The footer: what the operator wrote, or the default line.
import { Link } from "react-router";
import { useStatus, useSystemName } from "#console/base/status.ts";
import { readStored } from "#console/base/storage.ts";
import { SafeHtml } from "#console/ui/safe-html.tsx";
import "./footer.css";

const LINKS = [
  { to: "/about", label: "关于" },
  { to: "/docs", label: "文档" },
  { to: "/pricing", label: "价格" },
  { to: "/terms", label: "服务条款" },
] as const;

/** The default links of a footer (requirements B1). */
function DefaultFooter({ name, version }: { readonly name: string; readonly version: string }) {
  return (
    <div className="tg-footer-default">
      <span>
        {name} {version}
      </span>
      {LINKS.map(({ to, label }) => (
        <Link key={to} to={to}>
          {label}
        </Link>
      ))}
    </div>
  );
}

export function Footer() {
  const status = useStatus();
  const name = useSystemName();
  const html = status?.footer_html ?? readStored("footer_html") ?? "";
  return (
    <footer className="tg-footer">
      {html === "" ? (
        <DefaultFooter name={name} version={status?.version ?? __APP_VERSION__} />
      ) : (
        <SafeHtml html={html} />
      )}
    </footer>
  );
}
