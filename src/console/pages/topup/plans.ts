// The plans on the top-up page (requirements B9). Pure.

export interface Plan {
  readonly dollars: number;
  readonly yuan: number;
}

export const PLANS: readonly Plan[] = [
  { dollars: 10, yuan: 6 },
  { dollars: 50, yuan: 30 },
  { dollars: 120, yuan: 60 },
  { dollars: 500, yuan: 250 },
  { dollars: 1000, yuan: 500 },
];

/** The discount as shops write it: yuan per dollar in tenths, `6折` or `5折`. */
export function discountText({ dollars, yuan }: Plan): string {
  return `${Math.round((yuan / dollars) * 100) / 10}折`;
}
