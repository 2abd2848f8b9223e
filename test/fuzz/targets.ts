import type { Target } from './target.ts';
import { ACCEPTANCE } from './targets/acceptance.ts';
import { ARCHIVES } from './targets/archives.ts';
import { CONTENTS } from './targets/contents.ts';
import { DOCUMENTS } from './targets/documents.ts';
import { IDENTITY } from './targets/identity.ts';
import { OFFICE } from './targets/office.ts';
import { PARTS } from './targets/parts.ts';
import { REGISTRY } from './targets/registry.ts';
import { SERVED } from './targets/served.ts';
import { SECRETS } from './targets/secrets.ts';
import { STATEMENTS } from './targets/statements.ts';

/** Every parser of what a stranger may have written. */
export const TARGETS: readonly Target[] = [
  ...ARCHIVES,
  ...PARTS,
  ...DOCUMENTS,
  ...STATEMENTS,
  ...IDENTITY,
  ...ACCEPTANCE,
  ...REGISTRY,
  ...SERVED,
  ...CONTENTS,
  ...SECRETS,
  ...OFFICE,
];
