// Who may register from now on, as one choice of three.
import type { Registration } from "#contract/first-run.ts";

const CHOICES: readonly { readonly value: Registration; readonly label: string; readonly text: string }[] = [
  { value: "open", label: "开放注册", text: "任何人都可以注册账户。" },
  { value: "invited", label: "仅限邀请", text: "只有持管理员邀请链接的人可以注册。" },
  { value: "closed", label: "关闭注册", text: "账户只能由管理员创建。" },
];

export interface RegistrationFieldProps {
  readonly value: Registration;
  readonly onChange: (value: Registration) => void;
}

export function RegistrationField({ value, onChange }: RegistrationFieldProps) {
  return (
    <fieldset className="tg-first-choices">
      <legend>谁可以注册</legend>
      {CHOICES.map((choice) => (
        <label key={choice.value}>
          <input
            type="radio"
            name="registration"
            checked={choice.value === value}
            onChange={() => onChange(choice.value)}
          />
          <span>
            {choice.label}
            <small className="tg-muted">{choice.text}</small>
          </span>
        </label>
      ))}
    </fieldset>
  );
}
