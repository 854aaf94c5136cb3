// Makes or edits a token: name, quota, expiry, and limits to models and addresses.
import { useQuery } from "@tanstack/react-query";
import { Button, Collapse, DatePicker, Form, type FormRule, Input, Select, Switch } from "antd";
import dayjs, { type Dayjs } from "dayjs";
import { useState } from "react";
import { formQuery, query, useCall } from "#console/base/call.ts";
import { messages } from "#console/base/faults.ts";
import { NARROW, useMedia } from "#console/base/media.ts";
import { toast } from "#console/base/toast.ts";
import { clearable } from "#console/ui/clearable.tsx";
import { required, rule } from "#console/ui/fields.ts";
import { FormPage } from "#console/ui/form-page.tsx";
import { useFirstFocus, useToList } from "#console/ui/form-way.ts";
import { NumberInput } from "#console/ui/number-input.tsx";
import { QuotaField } from "#console/ui/quota-field.tsx";
import { ResourceForm } from "#console/ui/resource-form.tsx";
import { type Batch, SecretsDialog } from "#console/ui/secrets-dialog.tsx";
import { pathIn, useTeam } from "#console/ui/team-context.ts";
import { TextField } from "#console/ui/text-field.tsx";
import { statusApi } from "#contract/status.ts";
import { type Token, TokenDraft, tokenApi } from "#contract/token.ts";
import { userTokenApi } from "#contract/user-token.ts";
import { ClientButton } from "./client-dialog.tsx";
import { GroupsField, type GroupsFieldProps } from "./groups-field.tsx";
import { ProjectField } from "./project-field.tsx";
import {
  CountRule,
  draftOf,
  EXPIRY_PRESETS,
  grantHint,
  isExpiry,
  NameRule,
  NEVER,
  NotesRule,
  notesOf,
  onceHint,
  QuotaRule,
  TagsRule,
  type TokenValues,
  updateOf,
  valuesOf,
  wholeDay,
} from "./values.ts";

/** What Form.Item gives to the control inside it. */
interface Control<T> {
  readonly id?: string;
  readonly value?: T;
  readonly onChange?: (value: T) => void;
}

function ExpiryInput({ id, value = null, onChange }: Control<Dayjs | null>) {
  const isNarrow = useMedia(NARROW);
  const preset = (seconds: number) =>
    seconds === NEVER ? null : dayjs().add(seconds, "second").millisecond(0);
  return (
    <>
      <DatePicker
        {...(id === undefined ? {} : { id })}
        showTime={!isNarrow}
        // Without a time of day that would be this very moment.
        showNow={!isNarrow}
        value={value}
        format="YYYY-MM-DD HH:mm:ss"
        placeholder="永不过期"
        className="tg-wide"
        onChange={(next) => onChange?.(isNarrow ? wholeDay(next) : next)}
      />
      <div className="tg-form-inline tg-form-under">
        {EXPIRY_PRESETS.map(({ label, seconds }) => (
          <Button key={label} size="small" onClick={() => onChange?.(preset(seconds))}>
            {label}
          </Button>
        ))}
      </div>
    </>
  );
}

const expiryRule: FormRule = {
  validator: (_field, value: unknown) =>
    isExpiry(value) ? Promise.resolve() : Promise.reject(new Error(messages.badExpiry)),
};

const modelsRule: FormRule = {
  validator: async (_field, value: readonly string[] = []) => {
    const result = TokenDraft.shape.models.safeParse(value.join(","));
    if (!result.success) throw new Error(result.error.issues[0]?.message);
  },
};

function UnlimitedButton({ value = false, onChange }: Control<boolean>) {
  return <Button onClick={() => onChange?.(!value)}>{value ? "取消无限额度" : "设为无限额度"}</Button>;
}

function Quota({ isOfTeam }: { readonly isOfTeam: boolean }) {
  const isUnlimited = Form.useWatch("unlimited_quota") === true;
  return (
    <Form.Item
      label="额度"
      htmlFor="remain_quota"
      extra={`令牌的额度仅用于限制令牌本身的最大用量，实际使用受${isOfTeam ? "团队钱包" : "账户"}剩余额度限制。`}
    >
      <Form.Item name="remain_quota" noStyle rules={[rule(QuotaRule)]}>
        <QuotaField id="remain_quota" disabled={isUnlimited} amounts="set">
          <Form.Item name="unlimited_quota" noStyle>
            <UnlimitedButton />
          </Form.Item>
        </QuotaField>
      </Form.Item>
    </Form.Item>
  );
}

function Limits({ team, ownerId, chosen }: GroupsFieldProps) {
  const models = useQuery({
    ...query(statusApi.availableModels, {}),
    staleTime: 60_000,
    meta: { silent: true },
  });
  return (
    <>
      <GroupsField team={team} ownerId={ownerId} chosen={chosen} />
      <Form.Item
        name="models"
        label="模型范围"
        extra="留空表示可以使用分组内的所有模型。末尾的 * 表示以此开头，例如 gpt-4o*；! 开头表示排除，例如 !gpt-4o-audio*。"
        rules={[modelsRule]}
      >
        <Select
          mode="tags"
          allowClear={clearable}
          tokenSeparators={[",", "，", " ", "\n"]}
          placeholder="所有模型"
          options={(models.data ?? []).map((model) => ({ value: model, label: model }))}
        />
      </Form.Item>
      <TextField
        name="subnet"
        label="IP 限制"
        extra="允许的来源网段，多个以逗号分隔，例如 192.168.0.0/24。留空表示不限制。"
        maxLength={1000}
        placeholder="不限制"
      />
    </>
  );
}

const tagsRule: FormRule = {
  validator: async (_field, value: readonly string[] = []) => refuse(TagsRule.safeParse(value.join(","))),
};

const notesRule: FormRule = {
  validator: async (_field, value: string = "") => refuse(NotesRule.safeParse(notesOf(value))),
};

function refuse({
  error,
}: {
  readonly error?: { readonly issues: readonly { readonly message: string }[] };
}) {
  const [issue] = error?.issues ?? [];
  if (issue !== undefined) throw new Error(issue.message);
}

/** How tokens are told apart, and whether the key can be seen again. */
function Labels({ token }: { readonly token: Token | undefined }) {
  return (
    <>
      <Form.Item name="tags" label="标签" extra="列表可以按标签筛选；最多 20 个。" rules={[tagsRule]}>
        <Select
          mode="tags"
          open={false}
          suffixIcon={null}
          tokenSeparators={[",", "，", "\n"]}
          placeholder="无"
        />
      </Form.Item>
      <Form.Item name="notes" label="备注" extra="每行一条，形如 负责人=小李。" rules={[notesRule]}>
        <Input.TextArea autoSize={{ minRows: 2, maxRows: 8 }} placeholder="无" />
      </Form.Item>
      {token?.shown_once === true ? null : (
        <Form.Item
          name="shown_once"
          label="密钥只显示一次"
          valuePropName="checked"
          extra={
            token === undefined
              ? "创建后立即显示一次，服务器只保存哈希；遗失时只能轮换。"
              : "保存后删除服务器上的密钥原文，不能恢复；已在使用的客户端不受影响。"
          }
        >
          <Switch />
        </Form.Item>
      )}
    </>
  );
}

interface MadeKeys extends Batch {
  readonly hint: string;
  /** Present = it is one, for which a client can be set up. */
  readonly made?: Token;
}

/** The keys that were just made; such as are shown once are seen here and nowhere else. */
function MadeDialog({ made: batch, onClose }: { readonly made: MadeKeys; readonly onClose: () => void }) {
  const { hint, made } = batch;
  return (
    <SecretsDialog
      batch={batch}
      kind="令牌"
      hint={hint}
      onClose={onClose}
      extra={made === undefined ? null : <ClientButton token={made} />}
    />
  );
}

export interface TokenFormProps {
  readonly token: Token | undefined;
  /** The user whom an administrator makes it for; undefined = oneself. */
  readonly ownerId?: number;
}

export function TokenForm({ token: found, ownerId }: TokenFormProps) {
  // As the form was opened with, whatever is read later.
  const [token] = useState(found);
  const team = useTeam();
  const toList = useToList(ownerId === undefined ? pathIn(team, "/token") : `/user/token/${ownerId}`);
  const isFocused = useFirstFocus(token === undefined);
  const invalidates = [tokenApi.list, tokenApi.search, tokenApi.get, userTokenApi.list];
  const hintOf = ownerId === undefined ? onceHint : grantHint;
  const show = (made: Token) =>
    setBatch({ name: made.name, secrets: [`sk-${made.key}`], hint: hintOf(made), made });
  const create = useCall(tokenApi.create, {
    invalidates,
    onSuccess: (made) => {
      if (made?.shown_once === true) show(made);
      else toast.success("令牌创建成功，请在列表中点击复制获取令牌！");
    },
  });
  const grant = useCall(userTokenApi.create, { invalidates, onSuccess: show });
  const update = useCall(tokenApi.update, { invalidates, onSuccess: () => toast.success("令牌更新成功！") });
  const [batch, setBatch] = useState<MadeKeys>();
  const createMany = useCall(tokenApi.createMany, {
    invalidates,
    onSuccess: (made, { body }) =>
      setBatch({
        name: body.name,
        secrets: made.map(({ key }) => `sk-${key}`),
        hint: `每行一个密钥。${onceHint({ shown_once: made.some((one) => one.shown_once) })}`,
      }),
  });
  const submit = (values: TokenValues) => {
    if (token !== undefined) return update.mutateAsync({ body: updateOf(token, values) });
    const body = { ...draftOf(values), ...(team !== 0 && { team_id: team }) };
    if (ownerId !== undefined) return grant.mutateAsync({ params: { id: ownerId }, body });
    return values.count > 1
      ? createMany.mutateAsync({ body: { ...body, count: values.count } })
      : create.mutateAsync({ body });
  };
  const hasLimits =
    token !== undefined && (token.models !== "" || token.subnet !== "" || token.groups.length > 0);
  const hasLabels = token !== undefined && (token.tags !== "" || Object.keys(token.metadata).length > 0);
  return (
    <>
      <ResourceForm<TokenValues>
        initial={valuesOf(token)}
        kept={[
          "name",
          "remain_quota",
          "unlimited_quota",
          "expires",
          "models",
          "subnet",
          "groups",
          "tags",
          "notes",
          "count",
        ]}
        onSubmit={submit}
        // Keys that are shown now are shown first.
        {...(batch === undefined && { onDone: toList })}
        onCancel={toList}
      >
        {() => (
          <>
            <section className="tg-card tg-section">
              <TextField
                name="name"
                label="名称"
                rules={[required, rule(NameRule)]}
                autoFocus={isFocused}
                maxLength={30}
                showCount
                placeholder="例如：生产环境、我的笔记本"
              />
              <Quota isOfTeam={token === undefined ? team !== 0 : token.team_id !== 0} />
              <ProjectField team={token === undefined ? team : token.team_id} />
              <Form.Item name="expires" label="过期时间" extra="留空表示永不过期。" rules={[expiryRule]}>
                <ExpiryInput />
              </Form.Item>
              {token === undefined && ownerId === undefined ? (
                <Form.Item
                  name="count"
                  label="数量"
                  extra="大于 1 时一次创建多个设置相同的令牌，名称后加编号；一次最多 100 个。"
                  rules={[required, rule(CountRule)]}
                >
                  <NumberInput precision={0} className="tg-count-field" />
                </Form.Item>
              ) : null}
            </section>
            <Collapse
              className="tg-card tg-advanced"
              ghost
              defaultActiveKey={[...(hasLimits ? ["limits"] : []), ...(hasLabels ? ["labels"] : [])]}
              items={[
                {
                  key: "limits",
                  label: "高级：分组、限定模型与来源 IP",
                  children: <Limits team={team} ownerId={ownerId} chosen={token?.groups ?? []} />,
                  forceRender: true,
                },
                {
                  key: "labels",
                  label: "标签、备注与密钥的显示",
                  children: <Labels token={token} />,
                  forceRender: true,
                },
              ]}
            />
          </>
        )}
      </ResourceForm>
      {batch === undefined ? null : <MadeDialog made={batch} onClose={toList} />}
    </>
  );
}

export function TokenFormPage() {
  return (
    <FormPage<Token> load={(id) => formQuery(tokenApi.get, { params: { id } })}>
      {(token) => <TokenForm token={token} />}
    </FormPage>
  );
}
