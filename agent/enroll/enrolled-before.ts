import { formatChannel } from '#bundles/names';
import { formatTime } from '#bundles/time';
import { fingerprint, parsePublicKey } from '#bundles/trust/keys/key';
import { findIdentity } from '../store/identity.ts';
import type { State } from '../store/state.ts';
import { readRoot, readStatement, readTrustRow } from '../store/trust.ts';
import { findCertificate } from '../hub/certificate.ts';
import type { EnrolledOnline, OnlineEnrollment } from './enroll-online.ts';
import { checkSame } from './take-identity.ts';

/**
 * Returns the result of an earlier, completed enrolment at a hub with the same arguments: a restarted pod enrols again, and its
 * token is used up. Returns undefined if the enrolment is incomplete. @throws FleetError ALREADY_ENROLLED for other arguments
 */
export const enrolledBefore = async (
  state: State,
  wanted: OnlineEnrollment,
): Promise<EnrolledOnline | undefined> => {
  const identity = findIdentity(state);
  if (!identity) return undefined;
  checkSame(identity, { ...wanted, fleet: wanted.fleet ?? identity.fleet });
  const root = readRoot(state);
  const site = readStatement(state, 'site', '');
  const { channel } = readTrustRow(state);
  const certificate = await findCertificate(state.directory);
  if (!root || !site || !channel || !certificate) return undefined;
  return {
    fingerprint: fingerprint(parsePublicKey(identity.key)),
    fleet: identity.fleet,
    rootVersion: root.version,
    devRoot: root.dev,
    channel: formatChannel(channel),
    siteVersion: site.version,
    certificateUntil: formatTime(certificate.to),
  };
};
