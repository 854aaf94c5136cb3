// The operator's documentation; without one, the way to what every installation has.
import { useStatus } from "#console/base/status.ts";
import { FramePage } from "#console/ui/frame-page.tsx";
import { LinkButton } from "#console/ui/plain-button.tsx";

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
