import type { KeyedHash } from '../../../model/package-secrets.ts';
import type { LiveObject, ManagedFields } from '../api/kubernetes-api.ts';
import { FIELD_MANAGER } from '../api/open-kubernetes-api.ts';
import { hashText, stableText } from '../desired/stable-hash.ts';
import { extractFields } from './field-set.ts';

/** The part of an object that is ours by the server's own record. */
export const isOurs = ({ manager, operation, subresource }: ManagedFields): boolean =>
  manager === FIELD_MANAGER && operation === 'Apply' && !subresource;

/**
 * Hash of the fields that we own and of their values. A client that changes one of them becomes its owner, and the hash another
 * one; what controllers, defaults, autoscalers or people add beside them changes nothing. So an equal hash means that
 * applying the same again would do nothing, and no request is needed to know it (checklist S2, S3).
 * @param secret what an object with secrets is hashed by: the result is kept
 */
export const fingerprint = (live: LiveObject, secret: KeyedHash | typeof hashText = hashText): string =>
  secret(
    stableText(
      (live.metadata.managedFields ?? [])
        .filter(isOurs)
        .map(({ fieldsV1 = {} }) => [fieldsV1, extractFields(fieldsV1, live)]),
    ),
  );
