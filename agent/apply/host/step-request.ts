import type { Digest } from '#bundles/digest';

/**
 * One file that a step reads, by digest. Its bytes are a blob of the agent's store, or, for a small file that was made for this
 * host, Base64 in `bytes`. The runner verifies both before the step begins.
 */
export type StepContent = {
  /** Path below the step's content folder: 'hello_2.10-3_amd64.deb', 'playbooks/site.yml'. */
  readonly path: string;
  readonly digest: Digest;
  /** In bytes. */
  readonly size: number;
  readonly bytes?: string;
};

type StepRequest = {
  readonly content: readonly StepContent[];
  /** The step is killed after that time. */
  readonly timeoutSeconds: number;
  /** Texts that are replaced in the output before it is stored. The request is a file that only root can read. */
  readonly secrets: readonly string[];
};

export type DebRelease = { readonly name: string; readonly version: string };

/** A program of the release that runs once for a change of a Debian package. It may run again after a power cut. */
export type DebHook = {
  readonly when: 'before' | 'after' | 'restore';
  readonly package: string;
  /** Version on the host when the step was planned; null for none. */
  readonly from: string | null;
  readonly to: string;
  /** Its path in the release, for messages. */
  readonly path: string;
  /** Path below the content folder. */
  readonly program: string;
  readonly timeoutSeconds: number;
};

/** Installs, upgrades, downgrades and removes Debian packages in one transaction of apt, from the content alone. */
export type DebsRequest = StepRequest & {
  readonly kind: 'debs';
  /** The goal: these packages at exactly these versions. */
  readonly install: readonly DebRelease[];
  readonly remove: readonly { readonly name: string; readonly purge: boolean }[];
  /** Packages of the goal that are the agent's and not the administrator's: marked beside dpkg's database (debs/marks.ts). */
  readonly ours?: readonly DebRelease[];
  /**
   * Changes that apt's simulation announced when the step was planned ('hello 2.10', 'old removed'). Any other change fails the
   * step.
   */
  readonly changes: readonly string[];
  readonly conffiles: 'keep' | 'replace';
  /** Lines of debconf-set-selections(1). */
  readonly debconf: readonly string[];
  /** 'leave': maintainer scripts neither start nor stop services. */
  readonly services: 'start' | 'leave';
  readonly hold: readonly string[];
  readonly unhold: readonly string[];
  /** In the order in which they run. */
  readonly hooks: readonly DebHook[];
  /** How long the step waits for another apt or dpkg of the host. */
  readonly lockSeconds: number;
};

/** Runs an Ansible playbook on the host itself. Paths are below the content folder. */
export type PlaybookRequest = StepRequest & {
  readonly kind: 'playbook';
  /** 'check' changes nothing: Ansible's check mode. */
  readonly mode: 'apply' | 'check';
  /** Name of the record of an unfinished run; the same for all versions of a playbook. */
  readonly record: string;
  /** Path below `playbook/` of the content. */
  readonly playbook: string;
  readonly variables?: string;
  readonly collections: readonly {
    readonly namespace: string;
    readonly name: string;
    readonly path: string;
  }[];
  readonly roles: readonly { readonly name: string; readonly path: string }[];
  /** Path on the host. */
  readonly vaultPassword?: string;
  readonly become: boolean;
  /** Limit of the playbook itself, less than `timeoutSeconds`, so that the result can say where it hung. */
  readonly limitSeconds: number;
};

/** Applies a settings file of systemd, the only content. */
export type SettingRequest = StepRequest & {
  readonly kind: 'setting';
  readonly program: 'sysusers' | 'tmpfiles' | 'sysctl';
};

/**
 * Loads an image into Podman's storage from the content, an OCI image layout, or removes it there. `tag` is 'host/repo:fleet-ferry-<hex>',
 * which marks an image that the agent loaded.
 */
export type ImageRequest = StepRequest & {
  readonly kind: 'image';
  readonly verb: 'load' | 'remove';
  readonly tag: string;
};

/** A step that needs root without the restrictions of the daemon. `kind` says which program of the host does it. */
export type RunnerRequest = DebsRequest | PlaybookRequest | SettingRequest | ImageRequest;

/** A task of a playbook, with the file and line below the playbook's folder. */
export type TaskPlace = { readonly task: string; readonly file: string; readonly line: number };

/** How a run of ansible-playbook went, from the lines of runner/callback-plugin.ts. */
export type PlaybookReport = {
  /** Tasks that changed something, or would in check mode. */
  readonly changed: readonly (TaskPlace & { readonly host: string })[];
  /** The task that ended the run. */
  readonly failed?: TaskPlace & { readonly host: string; readonly message: string; readonly hidden: boolean };
  /** The last task that began: where a playbook hangs. */
  readonly last?: TaskPlace;
  /** True if the run came to its end, with or without a failure. */
  readonly ended: boolean;
  /** Effects of a former run that had not ended well; absent without one. */
  readonly resumed?: {
    /** The task in which the former run was cut off. */
    readonly cutOff?: string;
    /** Handlers that it had notified, and that ran now. */
    readonly handlers: readonly TaskPlace[];
    /** Notifications for which this playbook has no handler. */
    readonly lost: readonly string[];
    /** Tasks that this run skipped, and whose condition names the result of a task that changed something in the former run. */
    readonly unrepeated: readonly TaskPlace[];
  };
};

/** How a step ended that could begin. A request that the runner refuses is an error of runStep. */
export type RunnerResult = {
  readonly outcome: 'succeeded' | 'failed' | 'timed-out';
  /** Of the program that ended the step, as a shell reports it: 124 after a timeout. */
  readonly code: number;
  /** A sentence without its full stop. Equal for equal failures. */
  readonly message: string;
  /** First 4 KiB of the output, secrets redacted. */
  readonly first: string;
  /** Last 4 KiB of a longer output, secrets redacted; else ''. */
  readonly last: string;
  /** Set if the host, not the release, is the cause of a failure: what helps. */
  readonly surroundings?: string;
  /** Of a success: what the host did wrong beside it. */
  readonly note?: string;
  /** Of a playbook. */
  readonly report?: PlaybookReport;
};
