import { createHmac } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { FleetError } from '#bundles/errors';
import { hashToken } from '#bundles/trust/root/token-key';
import type { AgentRow, Database, FollowerKind } from '../../store/tables.ts';
import { isEqualInConstantTime } from '../../webhook/verify-webhook.ts';

/** The claimed sender of a notification, with its proof. */
export type Claim = {
  /** '<site>/<name>' */
  readonly id: string;
  readonly kind: FollowerKind;
  readonly headers: IncomingHttpHeaders;
  /** The raw bytes, over which the signature was made. */
  readonly body: Uint8Array;
};

/**
 * Verifies that the sender knows the follower's token: Flux signs the body with it (X-Signature) or sends it, the others send it.
 * Nothing says whether a follower exists to a caller without its token.
 * @throws FleetError TOKEN_INVALID, REVOKED
 */
export const authenticateFollower = async (
  db: Database,
  { id, kind, headers, body }: Claim,
): Promise<AgentRow> => {
  const agent = await db.selectFrom('agent').selectAll().where('id', '=', id).executeTakeFirst();
  const known = await db.selectFrom('follower').select('secret').where('agent', '=', id).executeTakeFirst();
  if (!agent || !known || agent.follower !== kind || !isProven(kind, known.secret, headers, body))
    throw new FleetError('TOKEN_INVALID', `the notification is not proven to be of ${kind} of ${id}`, {
      hint: 'Give the sender the token that fleet-scheduler sites follow printed',
    });
  if (agent.revoked_at !== null)
    throw new FleetError('REVOKED', `${id} was revoked on ${agent.revoked_at}`, {
      hint: 'Register it again: fleet-scheduler sites follow',
    });
  return agent;
};

const isProven = (
  kind: FollowerKind,
  secret: string,
  headers: IncomingHttpHeaders,
  body: Uint8Array,
): boolean => {
  const [, token] = /^bearer ([\w-]{20,128})$/i.exec(headers.authorization ?? '') ?? [];
  switch (kind) {
    case 'argo-cd':
    case 'rancher-fleet':
      return token !== undefined && isEqualInConstantTime(hashToken(token), secret);
    case 'flux': {
      const signature = headers['x-signature'];
      if (typeof signature === 'string')
        return isEqualInConstantTime(
          signature,
          `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`,
        );
      return token !== undefined && isEqualInConstantTime(token, secret);
    }
  }
};
