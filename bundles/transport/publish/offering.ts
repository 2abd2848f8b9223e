import type { BlobSource } from '../../formats/layout/blobs.ts';
import type { Layout } from '../../formats/layout/layout.ts';

/** Source of publishing: a layout, or a medium presented as one. */
export type Offering = Pick<Layout, 'directory' | 'manifests'> & { readonly blobs: BlobSource };
