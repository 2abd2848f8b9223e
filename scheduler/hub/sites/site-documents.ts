import { SIGSTORE_BUNDLE, SITE_VALUES_JSON } from '#bundles/media-types';
import type { NewDocument } from '../../publish/artifact.ts';
import { rootDocuments } from '../../publish/publish-release.ts';
import type { KeyDirectory } from '../../sign/key-directory.ts';
import type { SiteRow } from '../store/tables.ts';

/** What a site gets to know about itself: its statement, its values, and every root, to believe them by. */
export const siteDocuments = (row: SiteRow, keys: KeyDirectory): readonly NewDocument[] => [
  {
    role: 'site',
    mediaType: SIGSTORE_BUNDLE,
    site: row.name,
    version: row.version,
    bytes: Buffer.from(row.statement),
  },
  {
    role: 'site-values',
    mediaType: SITE_VALUES_JSON,
    site: row.name,
    bytes: Buffer.from(row.site_values),
  },
  ...rootDocuments(keys),
];
