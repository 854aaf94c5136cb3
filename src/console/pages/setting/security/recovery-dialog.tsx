// Recovery codes that were just made: to copy or download, since they are not shown again.
import { DownloadOutlined } from "@ant-design/icons";
import { Button, Modal } from "antd";
import { copyText } from "#console/base/clipboard.ts";
import { downloadText } from "#console/base/download.ts";

export interface RecoveryDialogProps {
  readonly codes: readonly string[];
  readonly onClose: () => void;
}

export function RecoveryDialog({ codes, onClose }: RecoveryDialogProps) {
  const text = `${codes.join("\n")}\n`;
  return (
    <Modal
      open
      title="请保存恢复码"
      width={440}
      mask={{ closable: false }}
      onCancel={onClose}
      footer={[
        <Button
          key="file"
          icon={<DownloadOutlined aria-hidden="true" />}
          onClick={() => downloadText({ name: "恢复码.txt", text, type: "text/plain" })}
        >
          下载文件
        </Button>,
        <Button key="copy" onClick={() => void copyText(text)}>
          复制全部
        </Button>,
        <Button key="done" type="primary" onClick={onClose}>
          我已保存
        </Button>,
      ]}
    >
      <p className="tg-muted">
        手机丢失或损坏时，每个恢复码可以代替验证码登录一次。只显示这一次，请存放在密码管理器或打印出来。
      </p>
      <ol className="tg-recovery" aria-label="恢复码">
        {codes.map((code) => (
          <li key={code} className="tg-code">
            {code}
          </li>
        ))}
      </ol>
    </Modal>
  );
}
