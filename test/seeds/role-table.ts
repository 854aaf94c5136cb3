// The level of every endpoint, written down by hand from the role matrix (requirements B7, Z02) and not derived from the contract table:
// the permission tests hold the server against it. What the matrix does not name has the level of its neighbours there.
import type { Level } from "#contract/endpoint.ts";

const ROUTES: Readonly<Record<Level, string>> = {
  public: `
    GET /api/status
    GET /api/notice
    GET /api/about
    GET /api/home_page_content
    POST /api/user/register
    POST /api/user/login
    GET /api/user/logout
    GET /api/verification
    GET /api/reset_password
    POST /api/user/reset
    GET /api/oauth/state
    GET /api/oauth/github
    GET /api/oauth/wechat`,
  user: `
    GET /api/oauth/wechat/bind
    GET /api/oauth/email/bind
    GET /api/models
    GET /api/user/self
    PUT /api/user/self
    DELETE /api/user/self
    GET /api/user/token
    GET /api/user/aff
    GET /api/user/available_models
    GET /api/user/dashboard
    GET /api/user/usage
    POST /api/user/topup
    GET /api/user/friends
    GET /api/user/partner_plan_info
    GET /api/token
    GET /api/token/search
    GET /api/token/:id
    POST /api/token
    POST /api/token/batch
    PUT /api/token
    DELETE /api/token/:id
    GET /api/log/self
    GET /api/log/self/search
    GET /api/log/self/stat
    GET /api/log/self/history`,
  admin: `
    GET /api/user
    GET /api/user/search
    GET /api/user/:id
    POST /api/user
    PUT /api/user
    POST /api/user/manage
    DELETE /api/user/:id
    POST /api/user/withdrawal
    POST /api/topup
    POST /api/token/find
    POST /api/token/disable
    GET /api/group
    GET /api/option
    PUT /api/option
    GET /api/channel
    GET /api/channel/search
    POST /api/channel/copy/:id
    GET /api/channel/models
    GET /api/channel/unpriced
    GET /api/channel/:id
    POST /api/channel
    POST /api/channel/upstream_models
    PUT /api/channel
    DELETE /api/channel/disabled
    DELETE /api/channel/:id
    GET /api/channel/test
    GET /api/channel/test/:id
    GET /api/channel/update_balance
    GET /api/channel/update_balance/:id
    GET /api/redemption
    GET /api/redemption/search
    GET /api/redemption/:id
    POST /api/redemption
    PUT /api/redemption
    DELETE /api/redemption/:id
    GET /api/log
    GET /api/log/stat
    GET /api/log/search
    DELETE /api/log
    GET /api/usage
    GET /api/audit`,
  root: "",
};

/** Method and path, as the table has them: without the slash at the end. */
export function routeOf({ method, path }: { readonly method: string; readonly path: string }): string {
  return `${method} ${path.replace(/\/$/, "")}`;
}

/** The level of every route there may be. */
export const roleTable: ReadonlyMap<string, Level> = new Map(
  // The keys of ROUTES are the levels.
  (Object.keys(ROUTES) as Level[]).flatMap((level) =>
    [...ROUTES[level].matchAll(/\S+ \S+/g)].map(([route]) => [route, level] as const),
  ),
);
