// The fields of a price: how it is shown, what each kind of token costs, and the tiers.
import { DeleteOutlined, PlusOutlined } from "@ant-design/icons";
import { Button, Collapse, Form, Input, Segmented, Select } from "antd";
import { useRef, useState } from "react";
import { moneyText, UNIT_WORDS } from "#console/base/money-price.ts";
import { useQuotaDisplay } from "#console/base/status.ts";
import { toast } from "#console/base/toast.ts";
import { NumberInput } from "#console/ui/number-input.tsx";
import { Section } from "#console/ui/section.tsx";
import type { ModelPriceRow, PriceRatios, TierPrice } from "#contract/model-price.ts";
import type { Currency } from "#contract/price-money.ts";
import type { PriceUnit } from "#contract/price-unit.ts";
import {
  type EditedPrice,
  editedOf,
  NO_PRICE,
  type PriceField,
  type PriceMode,
  type PriceScale,
  type PriceTexts,
  ratiosOf,
  ruleText,
  type TierTexts,
  textsOf,
  tierRatios,
  tierTexts,
} from "./edit-values.ts";
import { UNIT_LEADS, UNIT_NAMES, unitsFor } from "./price-unit-words.ts";

export interface PriceValues {
  mode: PriceMode;
  prices: PriceTexts;
  tiers: TierTexts[];
}

const SIGNS: Readonly<Record<PriceMode, string>> = { USD: "$", CNY: "¥", ratio: "×" };
const MODES: { value: PriceMode; label: string }[] = [
  { value: "USD", label: "美元" },
  { value: "CNY", label: "人民币" },
  { value: "ratio", label: "倍率" },
];

const LABELS: Readonly<Record<PriceField, string>> = {
  model_ratio: "输入",
  completion_ratio: "输出",
  cache_ratio: "缓存读取",
  cache_write_ratio: "缓存写入（5 分钟）",
  audio_ratio: "音频输入",
  audio_completion_ratio: "音频输出",
  image_ratio: "图片输入",
  image_completion_ratio: "图片输出",
};

function valuesOf({ ratios, tiers }: EditedPrice, mode: PriceMode, scale: PriceScale): PriceValues {
  return {
    mode,
    prices: textsOf(ratios, mode, scale),
    tiers: tiers.map((tier) => tierTexts(tier, mode, scale)),
  };
}

/** The ratios behind what the form shows, which money of six decimals may not tell. Throws: Error with a sentence. */
export function useKnownPrice(row: ModelPriceRow, currency: Currency) {
  const { quotaPerUnit } = useQuotaDisplay();
  const [unit, setUnit] = useState<PriceUnit>(row.unit);
  const scale = { unit, quotaPerUnit };
  const known = useRef(editedOf(row));
  const [initial] = useState(() => valuesOf(known.current, currency, scale));
  const readOne = (texts: PriceTexts, mode: PriceMode, was: PriceRatios): PriceRatios => {
    const read = ratiosOf(texts, mode, { known: was, ...scale });
    if (!("message" in read)) return read;
    throw new Error(`${LABELS[read.field]}：${read.message}`);
  };
  const read = ({ mode, prices, tiers }: PriceValues): EditedPrice => ({
    ratios: readOne(prices, mode, known.current.ratios),
    tiers: tiers.map(({ above, ...texts }) => {
      const was = known.current.tiers.find((tier) => tier.above === above);
      const ratios = readOne({ ...NO_PRICE, ...texts }, mode, was ? tierRatios(was) : NO_PRICE);
      const { model_ratio, completion_ratio, cache_ratio, cache_write_ratio } = ratios;
      return { above: above ?? 0, model_ratio, completion_ratio, cache_ratio, cache_write_ratio };
    }),
  });
  return {
    initial,
    scale,
    /** What is to be saved; a price that is none is told, and thrown. */
    readOrTell(values: PriceValues): { ratios: PriceRatios; tiers: TierPrice[] } {
      try {
        const { ratios, tiers } = read(values);
        return { ratios, tiers: [...tiers] };
      } catch (error) {
        toast.error(error instanceof Error ? error.message : String(error));
        throw error;
      }
    },
    /** Shows the same prices another way. */
    turn(values: PriceValues, mode: PriceMode): PriceValues {
      known.current = read(values);
      return valuesOf(known.current, mode, scale);
    },
    /** Another unit has another price: what was known says nothing of it. */
    count(next: PriceUnit, mode: PriceMode): PriceValues {
      known.current = next === row.unit ? editedOf(row) : { ratios: NO_PRICE, tiers: [] };
      setUnit(next);
      return valuesOf(known.current, mode, { ...scale, unit: next });
    },
    /** Shows one more tier. */
    tierOf(tier: TierPrice, mode: PriceMode): TierTexts {
      known.current = { ...known.current, tiers: [...known.current.tiers, tier] };
      return tierTexts(tier, mode, scale);
    },
  };
}

export type KnownPrice = ReturnType<typeof useKnownPrice>;

export interface PriceFieldsProps {
  readonly row: ModelPriceRow;
  readonly known: KnownPrice;
}

interface PriceInputProps {
  readonly name: (string | number)[];
  readonly field: PriceField;
  readonly mode: PriceMode;
  readonly placeholder: string;
  readonly label?: string;
}

const NUMBER = { USD: 6, CNY: 6, ratio: 12 } as const;

function PriceInput({ name, field, mode, placeholder, label = LABELS[field] }: PriceInputProps) {
  const places = NUMBER[mode];
  return (
    <Form.Item
      name={name}
      label={label}
      rules={[
        { required: field === "model_ratio", message: "请填写输入价格" },
        {
          pattern: new RegExp(`^\\d{1,9}(\\.\\d{1,${places}})?$`),
          message: `须为最多 ${places} 位小数的非负数`,
        },
      ]}
    >
      <Input
        prefix={<span className="tg-muted">{SIGNS[mode]}</span>}
        placeholder={placeholder}
        inputMode="decimal"
        autoComplete="off"
        className="tg-price-input"
      />
    </Form.Item>
  );
}

/** The fields of one kind; what is left empty costs what the rule says, which stands there in grey. */
function Prices({
  fields,
  mode,
  row,
  unit,
}: {
  readonly fields: readonly PriceField[];
  readonly mode: PriceMode;
  readonly unit: PriceUnit;
  readonly row: ModelPriceRow;
}) {
  const prices: PriceTexts = Form.useWatch("prices") ?? NO_PRICE;
  return (
    <div className="tg-price-fields">
      {fields.map((field) => (
        <PriceInput
          key={field}
          name={["prices", field]}
          field={field}
          mode={mode}
          placeholder={ruleText(field, prices, mode, row.rules)}
          {...(field === "model_ratio" && unit !== "token" ? { label: UNIT_WORDS[unit] } : {})}
        />
      ))}
    </div>
  );
}

const PLAIN = ["model_ratio", "completion_ratio", "cache_ratio", "cache_write_ratio"] as const;
const MEDIA = ["audio_ratio", "audio_completion_ratio", "image_ratio", "image_completion_ratio"] as const;

/** Tiers that follow the model's price, each with a way to a price of its own. */
function FollowingTiers({ row, known, mode }: PriceFieldsProps & { readonly mode: PriceMode }) {
  const form = Form.useFormInstance<PriceValues>();
  const tiers: readonly TierTexts[] = Form.useWatch("tiers") ?? [];
  const currency = mode === "ratio" ? "USD" : mode;
  return row.tiers
    .filter(({ above }) => !tiers.some((tier) => tier.above === above))
    .map(({ own: _own, ...tier }) => (
      <div key={tier.above} className="tg-price-follows">
        <span>
          输入超过 {tier.above.toLocaleString("en-US")} token 时：输入{" "}
          {moneyText(textsOf(tierRatios(tier), "USD", known.scale).model_ratio, currency)}
          ，随模型的价格按比例变化
        </span>
        <Button
          size="small"
          onClick={() => form.setFieldValue("tiers", [...tiers, known.tierOf(tier, mode)])}
        >
          单独定价
        </Button>
      </div>
    ));
}

function Tiers(props: PriceFieldsProps & { readonly mode: PriceMode }) {
  const { mode } = props;
  return (
    <Section
      title="阶梯价格"
      lead="输入的 token 数超过阈值时，整个请求按该阶梯计费；留空的项沿用模型的倍率。"
    >
      <FollowingTiers {...props} />
      <Form.List name="tiers">
        {(tiers, { add, remove }) => (
          <>
            {tiers.map(({ key, name }) => (
              <div key={key} className="tg-price-tier">
                <div className="tg-price-fields">
                  <Form.Item
                    name={[name, "above"]}
                    label="输入超过（token）"
                    rules={[{ required: true, message: "请填写阈值" }]}
                  >
                    <NumberInput min={1} max={999_999_999} precision={0} className="tg-price-input" />
                  </Form.Item>
                  {PLAIN.map((field) => (
                    <PriceInput key={field} name={[name, field]} field={field} mode={mode} placeholder="" />
                  ))}
                </div>
                <Button
                  size="small"
                  icon={<DeleteOutlined aria-hidden="true" />}
                  onClick={() => remove(name)}
                >
                  删除此阶梯
                </Button>
              </div>
            ))}
            <Button
              icon={<PlusOutlined aria-hidden="true" />}
              onClick={() =>
                add({
                  above: null,
                  model_ratio: "",
                  completion_ratio: "",
                  cache_ratio: "",
                  cache_write_ratio: "",
                })
              }
            >
              添加阶梯
            </Button>
          </>
        )}
      </Form.List>
    </Section>
  );
}

export function PriceFields(props: PriceFieldsProps) {
  const { row, known } = props;
  // The page's form holds more fields, which stay as they are.
  const form = Form.useFormInstance<PriceValues>();
  const mode: PriceMode = Form.useWatch("mode", { form, preserve: true }) ?? known.initial.mode;
  const turn = (next: PriceMode) => {
    try {
      // All fields, those of closed panels too; the form says `next` already, and its fields still `mode`.
      const values: PriceValues = form.getFieldsValue(true);
      form.setFieldsValue(known.turn({ ...values, mode }, next));
    } catch (error) {
      // The sentence is for the user; a price that is none stays as it was typed.
      form.setFieldValue("mode", mode);
      toast.error(error instanceof Error ? error.message : String(error));
    }
  };
  const { unit } = known.scale;
  const isText = unit === "token";
  const hasMedia = MEDIA.some((field) => row.ratios[field] !== "");
  return (
    <>
      <Section
        title="价格"
        lead={isText ? "按每百万 token 填写；留空的项按规则计费，灰色的数字是结果。" : "按计费单位填写。"}
      >
        <Form.Item label="计费方式" extra={UNIT_LEADS[unit]}>
          <Select<PriceUnit>
            aria-label="计费方式"
            value={unit}
            options={unitsFor(row).map((value) => ({ value, label: UNIT_NAMES[value] }))}
            onChange={(next) => form.setFieldsValue(known.count(next, mode))}
          />
        </Form.Item>
        <Form.Item name="mode" label="填写方式">
          <Segmented<PriceMode> options={MODES} onChange={turn} />
        </Form.Item>
        <Prices fields={isText ? PLAIN : ["model_ratio"]} mode={mode} row={row} unit={unit} />
        {isText ? (
          <Collapse
            ghost
            defaultActiveKey={hasMedia ? "media" : []}
            items={[
              {
                key: "media",
                label: "音频与图片的价格",
                forceRender: true,
                children: <Prices fields={MEDIA} mode={mode} row={row} unit="token" />,
              },
            ]}
          />
        ) : null}
      </Section>
      {isText ? <Tiers {...props} mode={mode} /> : null}
    </>
  );
}
