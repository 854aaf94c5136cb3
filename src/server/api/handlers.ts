// The whole management API by name: forgetting a handler, or answering what the contract does not say, fails the build.
import type { api } from "#contract/index.ts";
import { account } from "./account.ts";
import { alert } from "./alerts.ts";
import { audit } from "./audit.ts";
import { auth } from "./auth.ts";
import { books } from "./books.ts";
import type { Handlers } from "./call.ts";
import { catalogue } from "./catalogue.ts";
import { channelKey } from "./channel-keys.ts";
import { channelModels } from "./channel-models.ts";
import { channel } from "./channels.ts";
import { factor } from "./factors.ts";
import { firstRun } from "./first-run.ts";
import { groupAdmin } from "./group-admin.ts";
import { invitation } from "./invitations.ts";
import { invoice } from "./invoices.ts";
import { keySearch } from "./key-search.ts";
import { limit } from "./limits.ts";
import { loginProvider } from "./login-providers.ts";
import { log } from "./logs.ts";
import { mailDomain } from "./mail-domains.ts";
import { margin } from "./margins.ts";
import { modelPrice } from "./model-prices.ts";
import { oauth } from "./oauth.ts";
import { option } from "./options.ts";
import { partner } from "./partner.ts";
import { payment } from "./payment.ts";
import { paymentAdmin } from "./payment-admin.ts";
import { payout } from "./payouts.ts";
import { plan } from "./plans.ts";
import { priceDraft } from "./price-drafts.ts";
import { priceList } from "./price-lists.ts";
import { receipt } from "./receipt.ts";
import { redemption } from "./redemptions.ts";
import { route } from "./route.ts";
import { serviceAccount } from "./service-accounts.ts";
import { session } from "./sessions.ts";
import { signOn } from "./sign-on.ts";
import { staff } from "./staff.ts";
import { statement } from "./statements.ts";
import { status } from "./status.ts";
import { task } from "./tasks.ts";
import { teamAdmin } from "./team-admin.ts";
import { team } from "./teams.ts";
import { token } from "./tokens.ts";
import { usage } from "./usage.ts";
import { userAdmin } from "./user-admin.ts";
import { userToken } from "./user-tokens.ts";
import { user } from "./users.ts";
import { verify } from "./verify.ts";
import { view } from "./views.ts";

export const handlers = {
  status,
  catalogue,
  auth,
  firstRun,
  oauth,
  signOn,
  loginProvider,
  mailDomain,
  factor,
  verify,
  session,
  user,
  account,
  userAdmin,
  invitation,
  staff,
  serviceAccount,
  redemption,
  payment,
  paymentAdmin,
  payout,
  invoice,
  task,
  plan,
  partner,
  token,
  userToken,
  view,
  team,
  teamAdmin,
  keySearch,
  groupAdmin,
  channel,
  channelKey,
  channelModels,
  route,
  limit,
  log,
  receipt,
  statement,
  usage,
  option,
  priceDraft,
  priceList,
  modelPrice,
  margin,
  alert,
  audit,
  books,
} satisfies Handlers<typeof api>;
