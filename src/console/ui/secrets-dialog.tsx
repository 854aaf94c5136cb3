// Shows codes or keys that were just made: to copy, to download, to select by hand. Closing it is the only way on.
import { DownloadOutlined } from "@ant-design/icons";
import { Button, Input, Modal } from "antd";
import { Fragment, type ReactNode } from "react";
import { copyText } from "#console/base/clipboard.ts";
import { cleanFileName, downloadText } from "#console/base/download.ts";
import "./secrets-dialog.css";

export interface Batch {
  readonly name: string;
  readonly secrets: readonly string[];
}

/** What they are called. */
type Kind = "兑换码" | "令牌" | "新密钥" | "邀请链接" | "服务账户令牌";

/** Saves them as a text file named after the batch, one per line (requirements B7). */
export function downloadSecrets({ name, secrets }: Batch, kind: Kind): void {
  downloadText({
    name: `${cleanFileName(name, kind)}.txt`,
    text: `${secrets.join("\n")}\n`,
    type: "text/plain",
  });
}

export interface SecretsDialogProps {
  readonly batch: Batch;
  readonly kind: Kind;
  /** What became of them so far, and where they are found later. */
  readonly hint: string;
  readonly onClose: () => void;
  /** What else can be done with them now. */
  readonly extra?: ReactNode;
}

export function SecretsDialog({ batch, kind, hint, onClose, extra }: SecretsDialogProps) {
  const text = batch.secrets.join("\n");
  const count = batch.secrets.length;
  return (
    <Modal
      open
      title={`已生成 ${count} 个${kind}`}
      className="tg-secrets"
      width={520}
      mask={{ closable: false }}
      onCancel={onClose}
      footer={[
        <Button
          key="file"
          icon={<DownloadOutlined aria-hidden="true" />}
          onClick={() => downloadSecrets(batch, kind)}
        >
          下载文件
        </Button>,
        <Button key="copy" onClick={() => void copyText(text)}>
          {count === 1 ? "复制" : "复制全部"}
        </Button>,
        <Fragment key="extra">{extra}</Fragment>,
        <Button key="done" type="primary" onClick={onClose}>
          完成
        </Button>,
      ]}
    >
      <p className="tg-muted">{hint}</p>
      <Input.TextArea
        readOnly
        className="tg-code"
        aria-label={`生成的${kind}`}
        value={text}
        autoSize={{ minRows: 2, maxRows: 10 }}
        onFocus={(event) => event.target.select()}
      />
    </Modal>
  );
}
