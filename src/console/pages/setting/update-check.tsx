// Whether a newer release exists. No other site is asked unless the operator has named a repository.
import { CloudSyncOutlined } from "@ant-design/icons";
import { useMutation } from "@tanstack/react-query";
import { Button, Modal } from "antd";
import { useState } from "react";
import { latestRelease, type Release, releasesPage } from "#console/base/release.ts";
import { isOtherVersion, useStatus } from "#console/base/status.ts";
import { toast } from "#console/base/toast.ts";
import { Callout } from "#console/ui/callout.tsx";
import { Section } from "#console/ui/section.tsx";

function Notes({ title, text }: { readonly title: string; readonly text: string }) {
  if (text === "") return null;
  return (
    <>
      <h3>{title}</h3>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what is longer than its box is scrolled by the keyboard */}
      <pre className="tg-notes" tabIndex={0}>
        {text}
      </pre>
    </>
  );
}

interface FindingProps {
  readonly release: Release | undefined;
  /** Where releases can be read; undefined = no repository is named. */
  readonly page: string | undefined;
}

/** What the look-up said: a newer release, or why there is no answer. */
function Finding({ release, page }: FindingProps) {
  if (release !== undefined) {
    return (
      <>
        <Callout tone="info">新版本 {release.version} 已发布。</Callout>
        <Notes title="更新内容" text={release.notes} />
      </>
    );
  }
  return (
    <>
      <Callout tone="info">
        {page === undefined
          ? "还没有设置更新来源，无法查询最新版本。"
          : "没有连上代码托管站点，请稍后再试或打开发布页查看。刚刚修改过更新来源时，请先刷新页面。"}
      </Callout>
      <Notes title="当前版本的更新内容" text={__RELEASE_NOTES__} />
    </>
  );
}

export function UpdateCheck({ repository }: { readonly repository: string }) {
  const server = useStatus()?.version ?? "";
  const [isOpen, setOpen] = useState(false);
  const page = releasesPage(repository);
  const check = useMutation({
    mutationFn: async () => (page === undefined ? undefined : await latestRelease(repository)),
    meta: { silent: true },
    onSuccess: (release) => {
      if (release === undefined || isOtherVersion(release.version, __APP_VERSION__)) setOpen(true);
      else toast.success(`已是最新版本：${release.version}`);
    },
    onError: () => setOpen(true),
  });
  return (
    <Section title="检查更新">
      <p>
        控制台 {__APP_VERSION__} · 服务器 {server}
        {isOtherVersion(server, __APP_VERSION__) ? "，两者不一致，请按 Shift + F5 刷新页面。" : null}
      </p>
      <Button
        icon={<CloudSyncOutlined aria-hidden="true" />}
        loading={check.isPending}
        onClick={() => check.mutate()}
      >
        检查更新
      </Button>
      <Modal
        open={isOpen}
        title="检查更新"
        onCancel={() => setOpen(false)}
        footer={
          page === undefined ? null : (
            <Button type="primary" href={page} target="_blank" rel="noopener noreferrer">
              打开发布页
            </Button>
          )
        }
      >
        <Finding release={check.data} page={page} />
      </Modal>
    </Section>
  );
}
