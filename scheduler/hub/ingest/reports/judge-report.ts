import { FleetError, isFleetError } from '#bundles/errors';
import {
  type ReportClaim,
  type SignedReport,
  type VerifiedReport,
  verifyClaim,
  verifyEvents,
} from '#bundles/trust/reports/report';
import { parsePublicKey } from '#bundles/trust/keys/key';
import type { AgentRow } from '../../store/tables.ts';

/** A report with verified signature, chain and sender, not yet compared with the stored events (compareChain). */
export type JudgedReport = VerifiedReport & {
  readonly statement: string;
  /** The events as the agent wrote them, one line each, in the order of `events`. */
  readonly lines: readonly string[];
};

/**
 * Verifies the events of a report whose statement judgeClaim has verified.
 * @throws FleetError WRONG_FLEET, REPORT_INVALID, REPORT_CHAIN, TOO_LARGE, BAD_JSON, SCHEMA
 */
export const judgeEvents = (
  report: SignedReport & { readonly claim: ReportClaim },
  agent: Pick<AgentRow, 'id'>,
  fleet: string,
  path: string,
): JudgedReport => {
  const what = `${path} of ${agent.id}`;
  const verified = verifyEvents(report, report.claim, what);
  if (verified.predicate.fleet !== fleet)
    throw new FleetError('WRONG_FLEET', `${what} is of fleet ${verified.predicate.fleet}, this is ${fleet}`);
  if (verified.predicate.agent !== agent.id)
    throw new FleetError('REPORT_INVALID', `${what} says it is from ${verified.predicate.agent}`);
  const lines = report.events.toString('utf8').replace(/\n$/, '').split('\n');
  return {
    ...verified,
    statement: report.statement.toString('utf8'),
    lines,
  };
};

/**
 * Verifies a report with the key under which its agent was enrolled. A key that comes with the report proves nothing.
 * @param path name of the report in messages
 * @throws FleetError REVOKED, UNKNOWN_KEY, BAD_SIGNATURE, UNSIGNED, WRONG_FLEET, REPORT_INVALID, REPORT_CHAIN, TOO_LARGE,
 *   BAD_JSON, SCHEMA
 */
export const judgeReport = (
  report: SignedReport,
  agent: AgentRow,
  fleet: string,
  path: string,
): JudgedReport =>
  judgeEvents({ ...report, claim: judgeClaim(report.statement, agent, path) }, agent, fleet, path);

/**
 * Verifies the statement of a report alone, which says what its events are without their being read.
 * @throws FleetError REVOKED, UNKNOWN_KEY, BAD_SIGNATURE, SCHEMA
 */
export const judgeClaim = (statement: Uint8Array, agent: AgentRow, path: string): ReportClaim => {
  refuseRevoked(agent, path);
  const what = `${path} of ${agent.id}`;
  return withHint(() => verifyClaim(statement, parsePublicKey(agent.key), what), what);
};

const refuseRevoked = (agent: AgentRow, path: string): void => {
  if (agent.revoked_at !== null)
    throw new FleetError('REVOKED', `${agent.id} was revoked on ${agent.revoked_at}: ${path} is not taken`);
};

const withHint = <T>(verify: () => T, what: string): T => {
  try {
    return verify();
  } catch (error) {
    if (!isFleetError(error, 'UNKNOWN_KEY')) throw error;
    throw new FleetError('UNKNOWN_KEY', `${what} is not signed by the key that agent was enrolled with`, {
      subject: error.subject,
      hint: 'If the machine was set up again, enrol it again: fleet-scheduler sites enroll <medium> --replace-key --accept <fingerprint>',
      cause: error,
    });
  }
};
