// The table of contents of the management API: everything that is mounted, called, documented and walked by tests.
import { accountApi } from "./account.ts";
import { alertApi } from "./alert.ts";
import { auditApi } from "./audit.ts";
import { authApi } from "./auth.ts";
import { booksApi } from "./books.ts";
import { catalogueApi } from "./catalogue.ts";
import { channelApi } from "./channel.ts";
import { channelKeyApi } from "./channel-key.ts";
import { channelModelsApi } from "./channel-models.ts";
import { factorApi, sessionApi, verifyApi } from "./factor.ts";
import { firstRunApi } from "./first-run.ts";
import { groupAdminApi } from "./group-admin.ts";
import { invitationApi } from "./invitation.ts";
import { invoiceApi } from "./invoice.ts";
import { keySearchApi } from "./key-search.ts";
import { limitApi } from "./limit.ts";
import { logApi } from "./log.ts";
import { loginProviderApi } from "./login-provider.ts";
import { mailDomainApi } from "./mail-domain.ts";
import { marginApi } from "./margin.ts";
import { modelPriceApi } from "./model-price.ts";
import { oauthApi } from "./oauth.ts";
import { optionApi } from "./option.ts";
import { partnerApi } from "./partner.ts";
import { paymentApi } from "./payment.ts";
import { paymentAdminApi } from "./payment-admin.ts";
import { payoutApi } from "./payout.ts";
import { planApi } from "./plan.ts";
import { priceDraftApi } from "./price-draft.ts";
import { priceListApi } from "./price-list.ts";
import { receiptApi } from "./receipt.ts";
import { redemptionApi } from "./redemption.ts";
import { routeApi } from "./route.ts";
import { serviceAccountApi } from "./service-account.ts";
import { signOnApi } from "./sign-on.ts";
import { staffApi } from "./staff.ts";
import { statementApi } from "./statement.ts";
import { statusApi } from "./status.ts";
import { taskApi } from "./task.ts";
import { teamAdminApi, teamApi } from "./team.ts";
import { tokenApi } from "./token.ts";
import { usageApi } from "./usage.ts";
import { userApi } from "./user.ts";
import { userAdminApi } from "./user-admin.ts";
import { userTokenApi } from "./user-token.ts";
import { viewApi } from "./view-as.ts";

export const api = {
  status: statusApi,
  catalogue: catalogueApi,
  auth: authApi,
  firstRun: firstRunApi,
  oauth: oauthApi,
  signOn: signOnApi,
  loginProvider: loginProviderApi,
  mailDomain: mailDomainApi,
  factor: factorApi,
  verify: verifyApi,
  session: sessionApi,
  user: userApi,
  account: accountApi,
  userAdmin: userAdminApi,
  invitation: invitationApi,
  staff: staffApi,
  serviceAccount: serviceAccountApi,
  token: tokenApi,
  userToken: userTokenApi,
  view: viewApi,
  team: teamApi,
  teamAdmin: teamAdminApi,
  keySearch: keySearchApi,
  groupAdmin: groupAdminApi,
  redemption: redemptionApi,
  partner: partnerApi,
  payment: paymentApi,
  paymentAdmin: paymentAdminApi,
  payout: payoutApi,
  invoice: invoiceApi,
  task: taskApi,
  plan: planApi,
  channel: channelApi,
  channelKey: channelKeyApi,
  channelModels: channelModelsApi,
  route: routeApi,
  limit: limitApi,
  log: logApi,
  receipt: receiptApi,
  statement: statementApi,
  usage: usageApi,
  option: optionApi,
  priceDraft: priceDraftApi,
  priceList: priceListApi,
  modelPrice: modelPriceApi,
  margin: marginApi,
  alert: alertApi,
  audit: auditApi,
  books: booksApi,
};
