// Terms of use: eleven numbered clauses (requirements B2).
import { Link } from "react-router";
import { useSystemName } from "#console/base/status.ts";
import { GuestFrame } from "#console/ui/guest-frame.tsx";
import "./terms.css";

interface Clause {
  readonly title: string;
  readonly text: readonly string[];
}

const CLAUSES: readonly Clause[] = [
  {
    title: "兑换码",
    text: [
      "额度以兑换码的形式发放。兑换码是不记名凭证，一码一次，兑换后立即失效，额度计入兑换时登录的账户。",
      "请在收到后尽快兑换并妥善保管。因自行泄露、转让或遗失造成的损失由持有人承担。额度自充值之日起 9 个月内有效。",
    ],
  },
  {
    title: "不予退款",
    text: [
      "兑换码与额度属于数字化商品，一经售出或兑换不支持退款、折现或转移到其他账户。",
      "因本服务原因导致调用失败的请求不计费；已经误扣的额度，核实后退回原账户。",
    ],
  },
  {
    title: "价格调整",
    text: [
      "各模型的价格由模型倍率、补全倍率与分组倍率共同决定，并可能随上游服务商的价格、汇率或运营成本变化而调整。",
      "调整自公布时起生效，不影响此前已经结算的调用。每次调用实际扣除的额度以使用日志为准。",
    ],
  },
  {
    title: "邮件联系",
    text: [
      "绑定邮箱后，我们会通过它发送验证码、密码重置链接、额度提醒以及与账户安全有关的通知。",
      "请保证邮箱可用。因邮箱失效、填写错误或邮件被拦截而未收到通知的，视为已经送达。",
    ],
  },
  {
    title: "服务更新",
    text: [
      "为修复缺陷、提升安全性或支持新的模型，我们可能随时更新本服务及其接口。可能影响使用的变更会尽量提前公告。",
      "本条款也可能随之修订。修订后继续使用本服务，即表示接受修订后的条款。",
    ],
  },
  {
    title: "接口使用限制",
    text: [
      "令牌仅供账户持有人自己的应用使用。未经许可，不得转售接口、公开分享令牌，或以任何方式绕过额度、频率与分组限制。",
      "不得进行压力测试、批量注册、漏洞探测等可能影响其他用户的行为。发现异常时，我们可以限制频率、停用令牌或封禁账户。",
    ],
  },
  {
    title: "可用性",
    text: [
      "本服务转发请求到上游模型服务商。上游的故障、限流、下线或政策变化可能造成某些模型暂时或永久不可用。",
      "我们会通过多渠道分流与自动重试尽力保证可用，但不承诺服务不中断，也不保证模型输出的准确性、完整性与时效性。",
    ],
  },
  {
    title: "数据保护",
    text: [
      "我们只保存提供服务所必需的信息：账户资料、令牌，以及每次调用的时间、模型、用量与费用。密码以不可还原的方式保存，密钥加密保存。",
      "请求与回答的内容不会被本服务留存，但会发送给处理该请求的上游服务商，并受其隐私政策约束。请不要在请求中提交您无权披露的个人信息或机密。",
    ],
  },
  {
    title: "责任限制",
    text: [
      "在法律允许的范围内，对于因使用或无法使用本服务而产生的间接损失，包括利润、数据与商誉损失，我们不承担责任。",
      "我们的全部责任以您在争议发生前 30 天内实际消耗的额度所对应的金额为限。",
    ],
  },
  {
    title: "法律风险",
    text: [
      "您应当遵守所在地的法律法规，并对通过本服务提交与生成的内容负责。禁止用于违法犯罪、侵犯他人权益、制作有害内容或规避监管的用途。",
      "违反本条的，我们有权立即终止服务且不退还剩余额度，并依法配合有关部门的调查。",
    ],
  },
  { title: "联系方式", text: ["对本条款、账单或数据有任何疑问，可以通过以下方式与我们联系："] },
];

export function TermsPage() {
  const name = useSystemName();
  return (
    <GuestFrame title="服务条款">
      <article className="tg-card tg-terms">
        <h1>服务条款</h1>
        <p>欢迎使用 {name}（以下称“本服务”）。注册账户、兑换额度或调用接口，即表示您已阅读并同意以下条款。</p>
        <ol>
          {CLAUSES.map((clause, index) => (
            <li key={clause.title}>
              <h2>
                <span>{index + 1}.</span> {clause.title}
              </h2>
              {clause.text.map((paragraph) => (
                <p key={paragraph}>{paragraph}</p>
              ))}
              {index < CLAUSES.length - 1 ? null : (
                <p>
                  本站管理员的联系方式见<Link to="/about">关于页面</Link>与页脚；充值与返现相关的说明见
                  <Link to="/topup">充值页面</Link>与<Link to="/partnerplan">推广计划</Link>。
                </p>
              )}
            </li>
          ))}
        </ol>
      </article>
    </GuestFrame>
  );
}
