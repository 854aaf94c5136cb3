// The groups that a token tries, in their order: chosen one after the other, moved up and down, taken out.
import { ArrowDownOutlined, ArrowUpOutlined, CloseOutlined } from "@ant-design/icons";
import { useQuery } from "@tanstack/react-query";
import { Button, Form, Select } from "antd";
import { query } from "#console/base/call.ts";
import { MOST_GROUPS } from "#contract/group.ts";
import { tokenApi } from "#contract/token.ts";
import { userTokenApi } from "#contract/user-token.ts";
import "./groups-field.css";

interface OrderProps {
  readonly id?: string;
  readonly value?: readonly string[];
  readonly onChange?: (value: readonly string[]) => void;
  readonly open: Readonly<Record<string, { readonly ratio: number; readonly desc: string }>>;
}

/** The same list with one name a step earlier or later. */
function moved(names: readonly string[], at: number, step: -1 | 1): string[] {
  const next = [...names];
  const [name = ""] = next.splice(at, 1);
  next.splice(at + step, 0, name);
  return next;
}

function Order({ id, value = [], onChange, open }: OrderProps) {
  const wordsOf = (name: string) => {
    const group = open[name];
    return group === undefined
      ? "已不可用，调用时跳过"
      : [`倍率 ${group.ratio}`, group.desc].filter(Boolean).join(" · ");
  };
  const left = Object.keys(open).filter((name) => !value.includes(name));
  return (
    <>
      {value.length === 0 ? null : (
        <ol className="tg-groups" aria-label="分组的顺序">
          {value.map((name, at) => (
            <li key={name}>
              <span className="tg-groups-name">{name}</span>
              <span className="tg-groups-words">{wordsOf(name)}</span>
              <Button
                size="small"
                type="text"
                icon={<ArrowUpOutlined aria-hidden="true" />}
                aria-label={`分组 ${name} 上移`}
                disabled={at === 0}
                onClick={() => onChange?.(moved(value, at, -1))}
              />
              <Button
                size="small"
                type="text"
                icon={<ArrowDownOutlined aria-hidden="true" />}
                aria-label={`分组 ${name} 下移`}
                disabled={at === value.length - 1}
                onClick={() => onChange?.(moved(value, at, 1))}
              />
              <Button
                size="small"
                type="text"
                icon={<CloseOutlined aria-hidden="true" />}
                aria-label={`去掉分组 ${name}`}
                onClick={() => onChange?.(value.filter((other) => other !== name))}
              />
            </li>
          ))}
        </ol>
      )}
      <Select<string>
        {...(id === undefined ? {} : { id })}
        value={null}
        disabled={left.length === 0 || value.length >= MOST_GROUPS}
        placeholder={
          value.length === 0 ? "账户的分组" : left.length === 0 ? "没有更多分组" : "再添加一个分组"
        }
        options={left.map((name) => ({ value: name, label: `${name}（${wordsOf(name)}）` }))}
        onChange={(name) => onChange?.([...value, name])}
      />
    </>
  );
}

export interface GroupsFieldProps {
  /** The team that is to pay; 0 = the account of the owner. */
  readonly team: number;
  /** Absent = the signed-in user. */
  readonly ownerId: number | undefined;
  readonly chosen: readonly string[];
}

/** Shown where there is anything to choose, or to take out. */
export function GroupsField({ team, ownerId, chosen }: GroupsFieldProps) {
  const open = useQuery({
    ...(ownerId === undefined
      ? query(tokenApi.groups, { query: { team_id: team } })
      : query(userTokenApi.groups, { params: { id: ownerId } })),
    staleTime: 60_000,
    meta: { silent: true },
  });
  const groups = open.data ?? {};
  if (Object.keys(groups).length < 2 && chosen.length === 0) return null;
  return (
    <Form.Item
      name="groups"
      label="分组"
      extra="留空表示使用账户的分组。选择多个时按顺序使用：前一个分组的渠道都不可用时才用下一个，按实际提供服务的分组计费。"
    >
      <Order open={groups} />
    </Form.Item>
  );
}
