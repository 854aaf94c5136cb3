// How an amount is divided between plans, in their order, and the wallet behind them. Pure: amounts in, amounts out (requirements Y44).

/** What a source gives. */
export interface Share<Source> {
  readonly source: Source;
  readonly amount: bigint;
}

/** Gives at most so much of what is still asked for. */
function takerOf(asked: bigint): { take(most: bigint): bigint; rest(): bigint } {
  let rest = asked;
  return {
    take(most) {
      const part = rest < most ? rest : most;
      rest -= part;
      return part;
    },
    rest: () => rest,
  };
}

/** Takes an amount from sources in order, as far as each has some. `rest` = what none of them had. */
export function takeInOrder<Source>(
  amount: bigint,
  sources: readonly Source[],
  freeOf: (source: Source) => bigint,
): { readonly shares: readonly Share<Source>[]; readonly rest: bigint } {
  const { take, rest } = takerOf(amount);
  const shares = sources.map((source) => ({ source, amount: take(freeOf(source)) }));
  return { shares, rest: rest() };
}

/** What a call has set aside in one plan, and what more there is. */
export interface PlanFunds {
  readonly held: bigint;
  readonly free: bigint;
}

export interface Funds<Plan extends PlanFunds> {
  readonly plans: readonly Plan[];
  readonly walletHeld: bigint;
  /** 0 where the wallet does not pay for what plans have no quota for. */
  readonly walletFree: bigint;
}

export interface Split<Plan> {
  readonly shares: readonly Share<Plan>[];
  readonly wallet: bigint;
  readonly shortfall: bigint;
}

/**
 * Divides a charge: what was set aside is spent first, in its order; a charge beyond it takes further quota in the same order. Always
 * shares + wallet + shortfall = charge.
 */
export function splitCharge<Plan extends PlanFunds>(
  charge: bigint,
  { plans, walletHeld, walletFree }: Funds<Plan>,
): Split<Plan> {
  const { take, rest } = takerOf(charge);
  const spent = plans.map((source) => ({ source, held: take(source.held) }));
  const fromHeld = take(walletHeld);
  const shares = spent.map(({ source, held }) => ({ source, amount: held + take(source.free) }));
  return { shares, wallet: fromHeld + take(walletFree), shortfall: rest() };
}
