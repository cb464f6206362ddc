// Finding a tenant named in somebody's request: 404 when it is not within the caller's reach, whether it exists or not.
export { requireTenant as requireTenantInReach } from './queries.ts'
