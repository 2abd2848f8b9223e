import { expect, it } from 'vitest';
import { createVisitor } from '../../../agent/report/visit-hub.ts';
import { createOnlineWorld, type OnlineWorld, PATIENT } from '../online-world.ts';

/** As it is after an update: the order was made before its agent had an age identity. */
const enrolledBefore = async (): Promise<OnlineWorld> => {
  const world = await createOnlineWorld();
  world.hub.forgetful = true;
  await world.enroll();
  return world;
};

const RENEWAL = 'POST /v1/certificate as plant-7/kiosk-1';
const renewals = ({ hub }: OnlineWorld) => hub.asked.filter((line) => line === RENEWAL).length;

it('an agent whose site statement lacks its recipient reports it to the hub with a certificate renewal, once per start', async () => {
  await using world = await enrolledBefore();
  await using visitor = createVisitor(world.agent(), world.hub.url, PATIENT);
  for (let round = 0; round < 5; round++) await visitor.visit({ present: true });
  const { recipient, recipientSignature, at } = JSON.parse(world.agent().identity.request);
  expect(world.hub.renewals).toMatchObject([{ recipient, recipientSignature, at }]);
  expect(renewals(world)).toBe(1);
});

it('an agent whose recipient the site statement has asks for no certificate', async () => {
  await using world = await createOnlineWorld();
  await world.enroll();
  await using visitor = createVisitor(world.agent(), world.hub.url, PATIENT);
  for (let round = 0; round < 5; round++) await visitor.visit({ present: true });
  expect(renewals(world)).toBe(0);
});

it('a hub that refuses the recipient is not asked again, and still receives "present"', async () => {
  await using world = await enrolledBefore();
  await using visitor = createVisitor(world.agent(), world.hub.url, PATIENT);
  world.hub.mischief = ({ url }, response) => {
    if (url !== '/v1/certificate') return false;
    const refusal = { code: 'REQUEST_INVALID', message: 'the recipient is not signed' };
    response.writeHead(400, { 'content-type': 'application/json' }).end(JSON.stringify(refusal));
    return true;
  };
  await expect(visitor.visit({ present: true })).rejects.toMatchObject({ code: 'HUB_REFUSED' });
  for (let round = 0; round < 3; round++) expect(await visitor.visit({ present: true })).toBe(true);
  expect(renewals(world)).toBe(1);
  expect(world.hub.asked.at(-1)).toBe('POST /v1/presence as plant-7/kiosk-1');
});

it('a recipient that the hub could not receive is reported at the next visit', async () => {
  await using world = await enrolledBefore();
  await using visitor = createVisitor(world.agent(), world.hub.url, { ...PATIENT, attempts: 1 });
  world.hub.mischief = ({ url }, response) => {
    if (url === '/v1/certificate') response.writeHead(503).end();
    return url === '/v1/certificate';
  };
  await expect(visitor.visit()).rejects.toMatchObject({ retryable: true });
  world.hub.mischief = undefined;
  await visitor.visit();
  expect(world.hub.renewals).toHaveLength(1);
});
