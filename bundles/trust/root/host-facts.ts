import { canonicalJson } from '../../json/canonical.ts';
import type { Timestamp } from '../../time.ts';
import { type PublicKey, type SigningKey, verifySignature } from '../keys/key.ts';
import type { AgentSubject } from './certificate-request.ts';

/** Facts about its machine that an agent reports when it enrols: 'architecture' -> 'amd64'. Untrusted data. */
export type HostFacts = Readonly<Record<string, string>>;

/** Facts of one agent at a time. */
export type FactsClaim = AgentSubject & { readonly facts: HostFacts; readonly at: Timestamp };

const CONTEXT = 'fleet-ferry facts v1';

/** The bytes that an agent signs about its facts, which protects them on a medium (docs/bundle-format.md section 11). */
const statementOf = ({ fleet, site, agent, facts, at }: FactsClaim): Buffer =>
  Buffer.from(`${CONTEXT}\n${fleet}/${site}/${agent}\n${canonicalJson(facts)}\n${at}\n`);

/** The request's `factsSignature`: base64 of the agent key's signature. */
export const signFacts = async (claim: FactsClaim, key: SigningKey): Promise<string> =>
  (await key.sign(statementOf(claim))).toString('base64');

export const areSignedFacts = (claim: FactsClaim, signature: string, key: PublicKey): boolean =>
  verifySignature(key, statementOf(claim), Buffer.from(signature, 'base64'));
