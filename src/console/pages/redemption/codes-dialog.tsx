// Shows codes that were just made: to copy, to download, to select by hand. Closing it is the only way on.
import { DownloadOutlined } from "@ant-design/icons";
import { Button, Input, Modal } from "antd";
import { copyText } from "#console/base/clipboard.ts";
import { cleanFileName, downloadText } from "#console/base/download.ts";

export interface Batch {
  readonly name: string;
  readonly codes: readonly string[];
}

/** Saves the codes as a text file named after the batch, one per line (spec §7). */
export function downloadCodes({ name, codes }: Batch): void {
  downloadText({
    name: `${cleanFileName(name, "兑换码")}.txt`,
    text: `${codes.join("\n")}\n`,
    type: "text/plain",
  });
}

export function CodesDialog({ batch, onClose }: { readonly batch: Batch; readonly onClose: () => void }) {
  const text = batch.codes.join("\n");
  const count = batch.codes.length;
  return (
    <Modal
      open
      title={`已生成 ${count} 个兑换码`}
      width={520}
      mask={{ closable: false }}
      onCancel={onClose}
      footer={[
        <Button
          key="file"
          icon={<DownloadOutlined aria-hidden="true" />}
          onClick={() => downloadCodes(batch)}
        >
          下载文件
        </Button>,
        <Button key="copy" onClick={() => void copyText(text)}>
          {count === 1 ? "复制" : "复制全部"}
        </Button>,
        <Button key="done" type="primary" onClick={onClose}>
          完成
        </Button>,
      ]}
    >
      <p className="tg-muted">“{batch.name}”的兑换码已下载为文本文件，每行一个。也可以之后在列表中复制。</p>
      <Input.TextArea
        readOnly
        className="tg-code"
        aria-label="生成的兑换码"
        value={text}
        autoSize={{ minRows: 2, maxRows: 10 }}
        onFocus={(event) => event.target.select()}
      />
    </Modal>
  );
}
