// A page of the shell that shows a configured link in a frame; where none is set it says so and what to do.
import { ExportOutlined, LinkOutlined } from "@ant-design/icons";
import type { ReactNode } from "react";
import { useMay } from "#console/base/session.ts";
import { Frame } from "./frame.tsx";
import { LinkButton } from "./plain-button.tsx";
import "./frame-page.css";

export interface FramePageProps {
  readonly title: string;
  /** As the status tells it; undefined while that is not known yet, "" = none. */
  readonly link: string | undefined;
  /** Name of the option an administrator sets it with. */
  readonly option: string;
  /** What helps a visitor when there is no link. */
  readonly children?: ReactNode;
}

/** Only addresses that a frame may have; what the status says is untrusted here (requirements H06). */
export function frameAddress(link: string): string | undefined {
  return /^(https?:\/\/|\/(?![/\\]))\S*$/.test(link) ? link : undefined;
}

function NoLink({ title, option, children }: FramePageProps) {
  const mayConfigure = useMay("option.write");
  return (
    <div className="tg-card tg-frame-none">
      <LinkOutlined aria-hidden="true" />
      <h1>尚未设置{title}页面</h1>
      <p>
        {mayConfigure
          ? `在运营设置中填写“${option}”，此处就会显示该页面。`
          : "管理员还没有提供这个页面的地址。"}
      </p>
      <div className="tg-frame-none-buttons">
        {mayConfigure ? (
          <LinkButton to="/setting?tab=operation" kind="primary">
            前往设置
          </LinkButton>
        ) : null}
        {children}
      </div>
    </div>
  );
}

export function FramePage(props: FramePageProps) {
  const { title, link } = props;
  if (link === undefined) return null;
  const address = frameAddress(link);
  if (address === undefined) return <NoLink {...props} />;
  return (
    <div className="tg-frame-page">
      <div className="tg-frame-bar">
        <h1>{title}</h1>
        <a href={address} target="_blank" rel="noopener noreferrer">
          <ExportOutlined aria-hidden="true" /> 在新窗口打开
        </a>
      </div>
      <Frame title={title} address={address} isApp />
    </div>
  );
}
