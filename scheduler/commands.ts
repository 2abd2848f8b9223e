import ApprovalsExport from './commands/approvals-export.ts';
import ApprovalsList from './commands/approvals-list.ts';
import Approve from './commands/approve.ts';
import Build from './commands/build.ts';
import Diff from './commands/diff.ts';
import Explain from './commands/explain.ts';
import Gc from './commands/gc.ts';
import ImagesLock from './commands/images-lock.ts';
import ImportKalypso from './commands/import-kalypso.ts';
import Init from './commands/init.ts';
import KeysGenerate from './commands/keys-generate.ts';
import KeysProtect from './commands/keys-protect.ts';
import KeysPublic from './commands/keys-public.ts';
import LeaseList from './commands/lease-list.ts';
import LeaseRenew from './commands/lease-renew.ts';
import Publish from './commands/publish.ts';
import ReleasesList from './commands/releases-list.ts';
import ReleasesRenew from './commands/releases-renew.ts';
import ReleasesRollback from './commands/releases-rollback.ts';
import Render from './commands/render.ts';
import ReportsImport from './commands/reports-import.ts';
import Revoke from './commands/revoke.ts';
import RootAddAuthority from './commands/root-add-authority.ts';
import RootCa from './commands/root-ca.ts';
import RootInit from './commands/root-init.ts';
import RootInspect from './commands/root-inspect.ts';
import RootInstall from './commands/root-install.ts';
import RootMerge from './commands/root-merge.ts';
import RootRotate from './commands/root-rotate.ts';
import RootSign from './commands/root-sign.ts';
import RootVerify from './commands/root-verify.ts';
import SecretsList from './commands/secrets-list.ts';
import SecretsRemove from './commands/secrets-remove.ts';
import SecretsReseal from './commands/secrets-reseal.ts';
import SecretsSet from './commands/secrets-set.ts';
import Serve from './commands/serve.ts';
import Signer from './commands/signer.ts';
import SitesEnroll from './commands/sites-enroll.ts';
import SitesList from './commands/sites-list.ts';
import SitesRenew from './commands/sites-renew.ts';
import SitesRevoke from './commands/sites-revoke.ts';
import SitesSet from './commands/sites-set.ts';
import Status from './commands/status.ts';
import TokensCreate from './commands/tokens-create.ts';
import TokensList from './commands/tokens-list.ts';
import TokensRevoke from './commands/tokens-revoke.ts';
import Validate from './commands/validate.ts';

/** Every verb of fleet-scheduler, by its oclif id. */
export const COMMANDS = {
  approvals: ApprovalsList,
  'approvals:export': ApprovalsExport,
  approve: Approve,
  build: Build,
  diff: Diff,
  explain: Explain,
  gc: Gc,
  'images:lock': ImagesLock,
  'import:kalypso': ImportKalypso,
  init: Init,
  'keys:generate': KeysGenerate,
  'keys:protect': KeysProtect,
  'keys:public': KeysPublic,
  'lease:list': LeaseList,
  'lease:renew': LeaseRenew,
  publish: Publish,
  'releases:list': ReleasesList,
  'releases:renew': ReleasesRenew,
  'releases:rollback': ReleasesRollback,
  render: Render,
  'reports:import': ReportsImport,
  revoke: Revoke,
  'root:add-authority': RootAddAuthority,
  'root:ca': RootCa,
  'root:init': RootInit,
  'root:inspect': RootInspect,
  'root:install': RootInstall,
  'root:merge': RootMerge,
  'root:rotate': RootRotate,
  'root:sign': RootSign,
  'root:verify': RootVerify,
  'secrets:list': SecretsList,
  'secrets:remove': SecretsRemove,
  'secrets:reseal': SecretsReseal,
  'secrets:set': SecretsSet,
  serve: Serve,
  signer: Signer,
  'sites:enroll': SitesEnroll,
  'sites:list': SitesList,
  'sites:renew': SitesRenew,
  'sites:revoke': SitesRevoke,
  'sites:set': SitesSet,
  status: Status,
  'tokens:create': TokensCreate,
  'tokens:list': TokensList,
  'tokens:revoke': TokensRevoke,
  validate: Validate,
};
