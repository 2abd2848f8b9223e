import { Code } from '@mantine/core';
import type { Workloads } from '#bundles/schemas/types/hub-decisions';

type Version = Workloads['workloads'][number]['cells'][number]['versions'][number]['version'];

/** The first characters of the commit of a version, if one is known; the whole commit is the title. */
export const Commit = ({ of }: { readonly of: Pick<NonNullable<Version>, 'commit'> | null | undefined }) =>
  typeof of?.commit === 'string' && <Code title={of.commit}>{of.commit.slice(0, 7)}</Code>;
