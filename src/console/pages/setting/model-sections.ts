// The sections of options that hold prices of models, which have a page of their own; and how price lists are reviewed.
import { fields, type Section } from "./section.ts";

export const modelSections: readonly Section[] = [
  {
    id: "model-ratio",
    title: "模型倍率",
    text: "倍率 1 等于每 token 一点额度。表里已含内置价格，改过的会标出来。名称后带“>数字”的是输入超过这么多 token 时整个请求的价格。",
    submit: "保存模型倍率",
    fields: fields({
      ModelRatio: "模型 → 输入价格的倍率。",
      ModelUnits:
        '模型 → 价格按什么计：token、image（张）、character（字符）、minute（分钟）、second（秒）、call（次），例如 {"my-model": "call"}。没有列出的按内置方式计费。',
      FallbackModelRatio: "表里没有的模型按此倍率计费；留空则拒绝调用，不会误收费用。",
      BatchRatio: "批处理（/v1/batches）的每一行按普通价格乘以此倍率计费，默认 0.5；0 表示免费。",
      FreeAtZeroEnabled: "免费指倍率为 0：不扣费，照常计入日志与频率限制；关闭时余额须大于零。",
    }),
  },
  {
    id: "price-lists",
    title: "价目表的核对",
    text: "从价目表更新价格时，超出这些范围的变化须由人确认。",
    submit: "保存核对设置",
    fields: fields({
      PriceRisePercent: "任一价格的涨幅超过此比例时，这一行须单独确认。",
      PriceFallPercent: "任一价格的降幅超过此比例时，这一行须单独确认。",
      PriceChangedPercent: "价格有变化的模型超过此比例时，整份草稿须先整体核对。",
      PriceShrinkPercent: "价目表中的模型比上次少了超过此比例时，整份草稿须先整体核对。",
      PriceNames:
        '本站的模型 → 它在价目表中的名称，例如 {"my-gpt": "gpt-5.4"}。名称须完全一致；价目表中有同名模型时以同名的为准。',
      PriceSources:
        '模型 → 价目表的地址，先的为准，用逗号分隔；名称末尾可用 *，例如 {"gpt-*": "https://models.dev/api.json"}。先的价目表里有价格时，后的须单独确认。',
      PriceAutoPublishEnabled:
        "从上面列出的地址更新价格时，没有疑问的行立即发布，其余的等人确认；整份被保留的草稿不发布。可以撤销。",
    }),
  },
  {
    id: "completion-ratio",
    title: "补全倍率",
    text: "输出比输入贵多少倍。没有列出的模型按所属系列的规则计算。",
    submit: "保存补全倍率",
    fields: fields({ CompletionRatio: "模型 → 输出价格相对输入价格的倍数。" }),
  },
  {
    id: "cache-ratio",
    title: "缓存倍率",
    text: "命中上游缓存的输入按多少折计费，写入缓存的输入加价多少。没有列出的模型按普通输入计费。",
    submit: "保存缓存倍率",
    fields: fields({
      CacheRatio: "模型 → 缓存命中的输入价格相对普通输入的倍数。",
      CacheWriteRatio: "模型 → 写入缓存（5 分钟）的输入价格相对普通输入的倍数；写入 1 小时的按其 1.6 倍计。",
    }),
  },
  {
    id: "media-ratio",
    title: "音频与图片倍率",
    text: "音频、图片的 token 与文字价格不同的模型。没有列出的模型按文字计费。",
    submit: "保存音频与图片倍率",
    fields: fields({
      AudioRatio: "模型 → 音频输入价格相对文字输入的倍数。",
      AudioCompletionRatio: "模型 → 音频输出价格相对音频输入的倍数。",
      ImageRatio: "模型 → 图片输入价格相对文字输入的倍数。",
      ImageCompletionRatio: "模型 → 图片输出价格相对图片输入的倍数。",
    }),
  },
];

/** Whether a section holds prices of models. */
export function isOfModels(section: Section): boolean {
  return modelSections.includes(section);
}
