import type { FastifyRequest } from 'fastify';
import { FleetError } from '#bundles/errors';
import { parseDocument } from '#bundles/json/validate';
import type { PlatformEdit } from '#bundles/schemas/types/hub-decisions';
import { isAllowed } from '../../sites/tokens/allowance.ts';
import { auditedCaller, checkAllowed, principalOf } from '../access/enforce-access.ts';
import type { HubServer } from '../hub-server.ts';
import { readQuery } from '../readers/history-routes.ts';
import type { Authoring } from './authoring.ts';

export const PLATFORM_PATH = '/v1/platform';
const PER_MINUTE = { max: 60, timeWindow: 60_000 };
/** A file of 256 KiB, with the escapes of JSON. */
const BODY_BYTES = 1 << 20;

/**
 * Adds the routes for edits of the platform. What environments share is for callers that may edit in all of them, and what is one
 * environment's own for those that may edit there; nothing else of the repository is answered.
 */
export const platformRoutes = (server: HubServer, authoring: Authoring): void => {
  const config = { rateLimit: PER_MINUTE, access: { for: 'verb', verb: 'author' } } as const;
  const guarded = {
    config,
    bodyLimit: BODY_BYTES,
  };

  server.get(PLATFORM_PATH, { config }, answerPlatform(authoring));

  server.get(`${PLATFORM_PATH}/object`, { config }, async (request) => {
    const { layer = '', kind = '', name = '' } = readQuery(request, ['layer', 'kind', 'name']);
    checkLayer(request, layer);
    return await authoring.readObject({ layer, kind, name });
  });

  server.post(`${PLATFORM_PATH}/preview`, guarded, async (request) => {
    const edit = parseDocument('hub-decisions#platform-edit', request.body ?? {}, 'the request');
    checkEdit(request, edit);
    const { assignments, ...preview } = await authoring.preview(edit);
    const { allowances } = principalOf(request);
    return {
      ...preview,
      assignments: assignments.filter(({ environment }) => isAllowed(allowances, 'author', environment)),
    };
  });

  server.post(`${PLATFORM_PATH}/edits`, guarded, async (request) => {
    const edit = parseDocument('hub-decisions#platform-save', request.body ?? {}, 'the request');
    checkEdit(request, edit);
    const caller = principalOf(request);
    const saved = await authoring.save(edit, caller.person ?? caller.id);
    request.log.info({ ...auditedCaller(caller), layer: edit.layer, ...saved }, 'edited');
    return saved;
  });
};

const answerPlatform = (authoring: Authoring) => async (request: FastifyRequest) => {
  const { layers, ...platform } = await authoring.describePlatform();
  const { allowances } = principalOf(request);
  return {
    ...platform,
    layers: layers.filter(({ environment }) => isAllowed(allowances, 'author', environment ?? '*')),
  };
};

/** Judges by the name of the layer, before anything is read. @throws FleetError TOKEN_SCOPE, ROLE_MISSING */
const checkLayer = (request: FastifyRequest, layer: string): void => {
  const [, environment = '*'] = /^environments\/([^/]+)$/.exec(layer) ?? [];
  checkAllowed(principalOf(request), 'author', environment);
};

const checkEdit = (request: FastifyRequest, { layer, object, text }: PlatformEdit): void => {
  checkLayer(request, layer);
  if ((object === undefined) === (text === undefined))
    throw new FleetError('USAGE', 'an edit has an object, or a file and its text', {
      hint: 'Send one of them',
    });
};
