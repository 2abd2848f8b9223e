import type { KeyedHash } from '../../../model/package-secrets.ts';
import type { LiveObject, ManagedFields } from '../api/kubernetes-api.ts';
import { FIELD_MANAGER } from '../api/open-kubernetes-api.ts';
import { hashText, stableText } from '#bundles/json/stable-hash';
import { extractFields } from './field-set.ts';

/** The part of an object that we own according to managedFields. */
export const isOwnEntry = ({ manager, operation, subresource }: ManagedFields): boolean =>
  manager === FIELD_MANAGER && operation === 'Apply' && !subresource;

/**
 * Hash of the fields that we own and of their values. A client that changes one of them becomes its owner, which changes the hash; fields
 * added by controllers, defaults, autoscalers or people do not. An equal hash means that applying again would change nothing, so no
 * request is needed (checklist S2, S3).
 * @param secret key for the hash of an object with secrets, because the hash is stored
 */
export const fingerprint = (live: LiveObject, secret: KeyedHash | typeof hashText = hashText): string =>
  secret(
    stableText(
      (live.metadata.managedFields ?? [])
        .filter(isOwnEntry)
        .map(({ fieldsV1 = {} }) => [fieldsV1, extractFields(fieldsV1, live)]),
    ),
  );
