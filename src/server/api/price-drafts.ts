// Handlers: drafts of prices from published lists (requirements X01–X03). A draft changes no price; what was approved of it is judged once
// more when it is published, against the prices that are in force then.

import type { PriceChoices, PriceDraft, PriceDraftHead, priceDraftApi } from "#contract/price-draft.ts";
import type { Context } from "#server/context.ts";
import { faults } from "#server/errors.ts";
import { sha256Hex } from "#server/secrets.ts";
import {
  findPriceDraft,
  insertPriceDraft,
  listPriceDrafts,
  type PriceDraftListed,
  type PriceDraftStored,
  saveListings,
} from "#server/store/price-drafts.ts";
import { audit } from "./audit-log.ts";
import type { Handlers } from "./call.ts";
import { compare } from "./draft-comparison.ts";
import { choicesOf, isOffered, refuseUnconfirmed, rowsOf } from "./draft-publication.ts";
import { changeOrRefuse, publishDraft, publishUnattended } from "./draft-publishing.ts";
import { fetchList, readList, sourceName } from "./price-list-source.ts";

export const priceDraft: Handlers<{ priceDraft: typeof priceDraftApi }>["priceDraft"] = {
  async create(ctx, call) {
    const { address, text: pasted, file, format: told } = call.body;
    const text = address === "" ? pasted : await fetchList(ctx, address);
    const { format, list } = readList(text, told);
    // An address that was read is one.
    const source = address === "" ? file || format : sourceName(ctx, address);
    const { rows, warning, lastListed } = await compare(ctx, list, source);
    // What nothing speaks against is chosen at first.
    const choices: PriceChoices = Object.fromEntries(
      rows.filter(({ verdict }) => verdict === "fine").map(({ model }) => [model, "chosen"]),
    );
    const stored = {
      revision: 1,
      state: "open",
      created_at: ctx.clock.seconds(),
      user_id: call.actor.id,
      username: call.actor.username,
      format,
      source,
      hash: sha256Hex(text),
      listed: list.size,
      listed_before: lastListed,
      changed: rows.filter(isOffered).length,
      warning,
      lines: JSON.stringify(rows),
      choices: JSON.stringify(choices),
      decided_by: "",
      decided_at: 0,
      reason: "",
      version: 0,
    } as const;
    const id = await ctx.db.transaction().execute(async (tx) => {
      const made = await insertPriceDraft(tx, stored);
      const models = rows.filter(({ verdict }) => verdict !== "gone").map(({ model }) => model);
      // What is missing from half a list is not gone.
      if (warning !== "shrunk") await saveListings(tx, { source, models, now: stored.created_at });
      const detail = { source, listed: list.size, changed: stored.changed };
      await audit(ctx, tx, call, { action: "price.draft", target: made, detail });
      return made;
    });
    const draft = { ...stored, id };
    if (await publishUnattended(ctx, call, { draft, address })) return presentDraft(await draftAt(ctx, id));
    return { ...headOf(draft), rows, choices };
  },

  async list(ctx) {
    return (await listPriceDrafts(ctx.db)).map(headOf);
  },

  async find(ctx, { params }) {
    return presentDraft(await draftAt(ctx, params.id));
  },

  async choose(ctx, call) {
    const { params, body } = call;
    const draft = await draftAt(ctx, params.id);
    refuseUnconfirmed(draft, body.choices);
    const change = { choices: JSON.stringify(body.choices) };
    await ctx.db.transaction().execute(async (tx) => {
      await changeOrRefuse(tx, { ...body, id: params.id, states: ["open"] }, change);
      const detail = { source: draft.source, models: Object.keys(body.choices).length };
      await audit(ctx, tx, call, { action: "price.draft", target: params.id, detail });
    });
    return headOf({ ...draft, revision: body.revision + 1 });
  },

  async approve(ctx, call) {
    const { params, body } = call;
    const draft = await draftAt(ctx, params.id);
    const models = Object.keys(body.choices);
    refuseUnconfirmed(draft, body.choices);
    if (models.length > 0 && draft.warning !== "" && !body.is_checked)
      throw faults.refused("这份草稿须先整体核对");
    const change = {
      state: models.length === 0 ? "discarded" : "approved",
      choices: JSON.stringify(body.choices),
      decided_by: call.actor.username,
      decided_at: ctx.clock.seconds(),
      reason: body.reason,
    } as const;
    await ctx.db.transaction().execute(async (tx) => {
      await changeOrRefuse(tx, { ...body, id: params.id, states: ["open"] }, change);
      const confirmed = models.filter((model) => body.choices[model] === "confirmed");
      const detail = { source: draft.source, reason: body.reason, models: models.length, confirmed };
      const action = models.length === 0 ? "price.discard" : "price.approve";
      await audit(ctx, tx, call, { action, target: params.id, detail });
    });
    return headOf({ ...draft, ...change, revision: body.revision + 1 });
  },

  async publish(ctx, call) {
    const { params, body } = call;
    const draft = await draftAt(ctx, params.id);
    if (draft.state !== "approved") throw faults.refused("只能发布已批准的草稿");
    return publishDraft(ctx, call, { ...draft, revision: body.revision });
  },

  async discard(ctx, call) {
    const { params, body } = call;
    const draft = await draftAt(ctx, params.id);
    await ctx.db.transaction().execute(async (tx) => {
      const at = { id: params.id, revision: body.revision, states: ["open", "approved"] } as const;
      const change = {
        state: "discarded",
        decided_by: call.actor.username,
        decided_at: ctx.clock.seconds(),
      } as const;
      await changeOrRefuse(tx, at, change);
      const detail = { source: draft.source };
      await audit(ctx, tx, call, { action: "price.discard", target: params.id, detail });
    });
    return null;
  },
};

async function draftAt({ db }: Context, id: number): Promise<PriceDraftStored> {
  const draft = await findPriceDraft(db, id);
  if (draft === undefined) throw faults.refused("没有这份草稿");
  return draft;
}

function headOf({ user_id: _maker, ...draft }: PriceDraftListed): PriceDraftHead {
  return draft;
}

function presentDraft(draft: PriceDraftStored): PriceDraft {
  return { ...headOf(draft), rows: rowsOf(draft), choices: choicesOf(draft) };
}
