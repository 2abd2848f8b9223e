import type { Digest } from '#bundles/digest';
import type { Outcome } from '#bundles/formats/events/event';
import type { Step } from '../../model/target.ts';
import { asJson, type OwnedDirectory, type Replaced } from './owned-state.ts';
import type { Inputs } from './systemd/started.ts';

/** An owner to set; null where it is not ours to set (not root). */
export type OwnerToSet = { readonly uid: number; readonly gid: number } | null;

export type DirectoryDetail = {
  readonly path: string;
  /** null: whatever it has, if it is there (a parent that no package describes). */
  readonly mode: number | null;
  readonly owner: OwnerToSet;
};

export type FileDetail = {
  readonly path: string;
  readonly digest: Digest;
  readonly mode: number;
  readonly owner: OwnerToSet;
  /** Content that may be overwritten without a copy: we wrote it. */
  readonly ours: readonly Digest[];
  /** Bytes of the largest of `ours`. Plans of older agents do not say. */
  readonly largest?: number;
  /**
   * Where the package takes the path over in this step: the digest that the inventory says will be put back when the package leaves,
   * or null for none.
   */
  readonly putsBack?: Digest | null;
  /** Records of what was started (started.ts) that this change makes out of date. */
  readonly outdates: readonly string[];
};

export type FileRemovalDetail = {
  readonly path: string;
  readonly ours: readonly Digest[];
  readonly largest?: number;
  readonly replaced: Replaced | null;
  readonly outdates: readonly string[];
};

/** Content and its digests are in no plan: what shall be there is looked up in the package, what is there is looked at. */
export type SecretDetail = {
  readonly path: string;
  readonly mode: number;
  readonly owner: OwnerToSet;
  readonly outdates: readonly string[];
};

export type SecretRemovalDetail = Pick<SecretDetail, 'path' | 'outdates'>;

export type DirectoryRemovalDetail = { readonly path: string } & OwnedDirectory;

export type UnitDetail = {
  readonly name: string;
  /** How systemctl finds it: its name, or its path where systemd would not look. */
  readonly file: string;
  readonly unmask: boolean;
  readonly enablement: 'enable' | 'reenable' | 'disable' | 'link' | null;
  readonly activity: 'start' | 'restart' | 'stop' | null;
  /** Files it runs with and their content (of secrets a keyed hash), remembered when it was started. */
  readonly inputs: Inputs;
};

export type UnitRemovalDetail = { readonly name: string };

/** Every kind of step of this target. 'note' is listed and does nothing. */
export type HostStep =
  | { readonly kind: 'note'; readonly detail: object }
  | { readonly kind: 'directory'; readonly detail: DirectoryDetail }
  | { readonly kind: 'file'; readonly detail: FileDetail }
  | { readonly kind: 'file-removal'; readonly detail: FileRemovalDetail }
  | { readonly kind: 'secret'; readonly detail: SecretDetail }
  | { readonly kind: 'secret-removal'; readonly detail: SecretRemovalDetail }
  | { readonly kind: 'directory-removal'; readonly detail: DirectoryRemovalDetail }
  | { readonly kind: 'daemon-reload'; readonly detail: object }
  | { readonly kind: 'unit'; readonly detail: UnitDetail }
  | { readonly kind: 'unit-removal'; readonly detail: UnitRemovalDetail };

export const toStep = (key: string, outcome: Outcome, reason: string, step: HostStep): Step => ({
  key,
  kind: step.kind,
  outcome,
  reason,
  detail: asJson(step.detail),
});

/** A line of the plan that does nothing: 'unchanged' or 'skipped'. */
export const note = (key: string, outcome: 'unchanged' | 'skipped', reason: string): Step =>
  toStep(key, outcome, reason, { kind: 'note', detail: {} });

/** Steps come out of our own plan or journal: their shape is ours. */
export const fromStep = (step: Step): HostStep => step as unknown as HostStep;
