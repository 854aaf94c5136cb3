// What each number of /metrics means. Data only; docs/operations.md lists the ones to watch.
import type { Family } from "./counters.ts";

const counter = (help: string): Family => ({ kind: "counter", help });
const gauge = (help: string): Family => ({ kind: "gauge", help });
const histogram = (help: string): Family => ({ kind: "histogram", help });

export const families: Readonly<Record<string, Family>> = {
  tollgate_info: gauge("Version and boot id of this process."),
  process_start_time_seconds: gauge("Start of the process, seconds since 1970."),
  process_cpu_seconds_total: counter("User and system CPU time."),
  process_resident_memory_bytes: gauge("Resident memory."),
  process_heap_used_bytes: gauge("JavaScript heap in use."),
  tollgate_event_loop_delay_p99_seconds: gauge(
    "99th percentile of the event loop's delay since the last scrape.",
  ),
  tollgate_relay_running: gauge("Relayed calls that run at this moment."),
  tollgate_relay_second_calls: gauge("Second calls made beside streams that were late, since the start."),
  tollgate_realtime_running: gauge("Realtime conversations that are open at this moment."),
  tollgate_responses_sockets: gauge("WebSockets of Responses that are open at this moment."),
  tollgate_relay_requests_total: counter("Relayed calls by endpoint and outcome."),
  tollgate_relay_prompt_tokens_total: counter("Prompt tokens of relayed calls."),
  tollgate_relay_completion_tokens_total: counter("Completion tokens of relayed calls."),
  tollgate_relay_quota_total: counter("Quota units charged."),
  tollgate_relay_shortfall_quota_total: counter("Quota units that calls cost beyond what there was."),
  tollgate_relay_duration_seconds: histogram("From the arrival of a relayed call to its end."),
  tollgate_relay_first_byte_seconds: histogram(
    "From the arrival of a relayed call to the first byte of its answer.",
  ),
  tollgate_channel_failures_total: counter("Failed calls to upstreams by channel and code."),
  tollgate_upstream_desync_total: counter(
    "Connections on which an upstream sent what nobody asked for, by channel.",
  ),
  tollgate_failed_calls_unlogged_total: counter(
    "Failed calls without an entry in the usage log: more than a user may have in a minute, or than the database took.",
  ),
  tollgate_channel_status_changes_total: counter("Channels that were switched on or off by themselves."),
  tollgate_api_requests_total: counter("Management calls by route and status."),
  tollgate_payment_notices_total: counter("Notices of payment providers by what became of them."),
  tollgate_logins_total: counter("Logins by outcome."),
  tollgate_rate_limited_total: counter("Calls refused by a limit."),
  tollgate_ledger_recovered_total: counter("Reservations of dead processes that were closed."),
  tollgate_ledger_mismatches: gauge(
    "Balances that differed from the ledger at the last check; anything but 0 is an alarm.",
  ),
  tollgate_audit_trail_broken: gauge(
    "1 when the last check found an act in the trail that is not as it was written; that is an alarm.",
  ),
  tollgate_books_differ_total: counter("Differences found by all checks."),
  tollgate_accounts_created_total: counter("New accounts by way."),
  tollgate_accounts_bound_total: counter("Bound identities by kind."),
  tollgate_password_resets_total: counter("Passwords reset by mail."),
  tollgate_human_checks_refused_total: counter("Human checks that were not passed."),
  tollgate_external_failures_total: counter("Failed calls to login services."),
  tollgate_mails_total: counter("Letters by outcome."),
  tollgate_notices_total: counter("Notices to the administrator."),
  tollgate_alert_failures_total: counter("Tries to send an alert that were not taken, by kind of target."),
  tollgate_jobs_total: counter("Runs of periodic jobs."),
  tollgate_background_failures_total: counter("Failures nobody waited for, by task."),
};
