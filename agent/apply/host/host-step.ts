import type { Digest } from '#bundles/digest';
import type { Outcome } from '#bundles/formats/events/event';
import type { Step } from '../../model/target.ts';
import type { Ids } from './live/accounts.ts';
import type { RaucActivateDetail, RaucBootDetail, RaucInstallDetail } from './rauc/rauc-step.ts';
import { asJson, type OwnedDirectory, type Replaced } from './owned/owned-state.ts';
import type { SettingProgram } from './settings/setting.ts';
import type { DebsRequest } from './step-request.ts';
import type { Inputs } from './systemd/started.ts';

/**
 * The owner to set; null if the agent is not root. Names are looked up when the step runs: an earlier step makes the accounts.
 */
export type OwnerToSet = Ids | { readonly user: string; readonly group: string } | null;

export type DirectoryDetail = {
  readonly path: string;
  /** null: any mode and owner (a parent directory that no package describes). */
  readonly mode: number | null;
  readonly owner: OwnerToSet;
};

export type FileDetail = {
  readonly path: string;
  /** The path in the package where it is another name of `path`. Absent in plans of older agents. */
  readonly named?: string;
  readonly digest: Digest;
  readonly mode: number;
  readonly owner: OwnerToSet;
  /** Digests of content that we wrote, which may be overwritten without a copy. */
  readonly ours: readonly Digest[];
  /** Size in bytes of the largest of `ours`. Absent in plans of older agents. */
  readonly largest?: number;
  /**
   * Set if the package takes the path over in this step: the digest of the copy that its removal restores according to the inventory,
   * or null for none.
   */
  readonly putsBack?: Digest | null;
  /** Records in started.ts that this change invalidates. */
  readonly outdates: readonly string[];
};

export type FileRemovalDetail = {
  readonly path: string;
  readonly ours: readonly Digest[];
  readonly largest?: number;
  readonly replaced: Replaced | null;
  readonly outdates: readonly string[];
};

/** The plan holds neither content nor digests of secrets: the step reads the package and the live file again. */
export type SecretDetail = {
  readonly path: string;
  readonly named?: string;
  readonly mode: number;
  readonly owner: OwnerToSet;
  readonly outdates: readonly string[];
};

export type SecretRemovalDetail = Pick<SecretDetail, 'path' | 'outdates'>;

export type DirectoryRemovalDetail = { readonly path: string } & OwnedDirectory;

export type UnitDetail = {
  readonly name: string;
  /** The unit's name, or its path if it is outside of systemd's search path. */
  readonly file: string;
  readonly unmask: boolean;
  readonly enablement: 'enable' | 'reenable' | 'disable' | 'link' | null;
  /** 'refresh': restarts a unit that a socket, timer or path unit has started, if it still runs. */
  readonly activity: 'start' | 'restart' | 'refresh' | 'stop' | null;
  /** The sockets of the package that are to be active. Absent in plans of older agents. */
  readonly sockets?: readonly string[];
  /** The files that the unit uses and their digests (for secrets a keyed hash), recorded when it is started. */
  readonly inputs: Inputs;
};

/** `digest` of the settings file's content. */
export type SettingDetail = {
  readonly path: string;
  readonly program: SettingProgram;
  readonly digest: Digest;
};

/** `stops`: units with files of the package that this one starts. Absent in plans of older agents. */
export type UnitRemovalDetail = { readonly name: string; readonly stops?: readonly string[] };

/** The plan holds no content: the step reads the package again. */
export type PlaybookDetail = { readonly name: string };
/** One transaction of apt. Its content is the repository of the package, which the step reads again. */
export type DebsDetail = Omit<DebsRequest, 'kind' | 'content' | 'secrets' | 'timeoutSeconds'>;

/** `name` is 'host/repo@sha256:...'. */
export type ImageDetail = { readonly name: string };

/** All kinds of steps of this target. 'note' is listed in the plan and does nothing. */
export type HostStep =
  | { readonly kind: 'note'; readonly detail: object }
  | { readonly kind: 'directory'; readonly detail: DirectoryDetail }
  | { readonly kind: 'file'; readonly detail: FileDetail }
  | { readonly kind: 'file-removal'; readonly detail: FileRemovalDetail }
  | { readonly kind: 'secret'; readonly detail: SecretDetail }
  | { readonly kind: 'secret-removal'; readonly detail: SecretRemovalDetail }
  | { readonly kind: 'directory-removal'; readonly detail: DirectoryRemovalDetail }
  | { readonly kind: 'setting'; readonly detail: SettingDetail }
  | { readonly kind: 'debs'; readonly detail: DebsDetail }
  | { readonly kind: 'image'; readonly detail: ImageDetail }
  | { readonly kind: 'image-removal'; readonly detail: ImageDetail }
  | { readonly kind: 'rauc-install'; readonly detail: RaucInstallDetail }
  | { readonly kind: 'rauc-activate'; readonly detail: RaucActivateDetail }
  | { readonly kind: 'rauc-boot'; readonly detail: RaucBootDetail }
  | { readonly kind: 'daemon-reload'; readonly detail: object }
  | { readonly kind: 'unit'; readonly detail: UnitDetail }
  | { readonly kind: 'playbook'; readonly detail: PlaybookDetail }
  | { readonly kind: 'unit-removal'; readonly detail: UnitRemovalDetail };

export const toStep = (key: string, outcome: Outcome, reason: string, step: HostStep): Step => ({
  key,
  kind: step.kind,
  outcome,
  reason,
  detail: asJson(step.detail),
});

/** A step that does nothing: 'unchanged' or 'skipped'. */
export const note = (key: string, outcome: 'unchanged' | 'skipped', reason: string): Step =>
  toStep(key, outcome, reason, { kind: 'note', detail: {} });

/** Steps come from our own plan or journal, so their shape is trusted. */
export const fromStep = (step: Step): HostStep => step as unknown as HostStep;
