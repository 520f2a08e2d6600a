import time, numpy as np, torch, sys
from se_gnn.graph import AttributedGraph, local_graphs
from se_gnn.similarity.kernels import triton_gpu, torch_any, numba_cpu
from se_gnn.similarity.kernels.plan import MatchPlan
print(torch.cuda.get_device_name(), torch.__version__)
rng=np.random.default_rng(0)
def graph(n,e):
    return AttributedGraph.build(features=np.ones((n,1),np.float32),edges=rng.integers(0,n,(e,2)),labels=np.zeros(n,int))
def check(n,e,l,d,measure):
    g=graph(n,e); lab=rng.choice(n,l,replace=False); L=local_graphs(g,np.sort(lab),2)
    plan=MatchPlan.build(g.edges,np.arange(g.num_edges),L)
    h=torch.from_numpy(rng.normal(size=(n,d)).astype('f'))
    b0,w0=numba_cpu.match_edges(h,plan,measure)
    hc=h.cuda(); b1,w1=triton_gpu.match_edges(hc,plan,measure)
    torch.cuda.synchronize()
    fin=torch.isfinite(b0)
    print(n,e,l,d,measure,'max diff',float((b0[fin]-b1.cpu()[fin]).abs().max()),'argmax agree',float((w0==w1.cpu()).float().mean()),'inf ok',bool((torch.isfinite(b1.cpu())==fin).all()))
    gr=torch.randn(b0.shape); gr[~fin]=0
    g0=numba_cpu.match_edges_backward(h,plan,measure,b0,w0,gr); g1=triton_gpu.match_edges_backward(hc,plan,measure,b1,w0.cuda(),gr.cuda()).cpu()
    print('   grad rel', float((g0-g1).norm()/g0.norm()))
    S0=torch.rand(g.num_edges,l)
    A=local_graphs(g,np.arange(n),2); m=triton_gpu.segment_mean(S0.cuda(),torch.from_numpy(A.ptr).cuda(),torch.from_numpy(A.edge_ids).cuda()).cpu()
    t=int(A.sizes.argmax()); print('   mean', float((m[t]-S0[A.row(t)].mean(0)).abs().max()))
for measure in ('distance','cosine'):
    check(300,500,40,64,measure); check(200,150,16,20,measure); check(2000,5000,140,128,measure)
# large case against the plain product
def bench(f,n=5):
    f(); torch.cuda.synchronize(); ts=[]
    for _ in range(n):
        s=torch.cuda.Event(enable_timing=True); e=torch.cuda.Event(enable_timing=True); s.record(); f(); e.record(); torch.cuda.synchronize(); ts.append(s.elapsed_time(e))
    return sorted(ts)[n//2]
n=200_000; g=graph(n,2_000_000); lab=np.sort(rng.choice(n,512,replace=False)); t=time.time(); L=local_graphs(g,lab,2); print('local',time.time()-t,L.sizes.mean(),len(L.union()))
plan=MatchPlan.build(g.edges,np.arange(200_000),L); h=torch.randn(n,64,device='cuda')
for Q,G in ((128,8),(64,8),(128,4),(256,8)):
    triton_gpu.QUERIES,triton_gpu.GROUP=Q,G
    try: ms=bench(lambda:triton_gpu.match_edges(h,plan,'distance'))
    except Exception as ex: print(Q,G,repr(ex)[:200]); continue
    fl=2*200_000*len(L.edge_ids)*64
    print('tile',Q,G,'ms',ms,'TFLOP/s over memberships',fl/ms/1e9)
a=torch.randn(200_000,64,device='cuda'); b=torch.randn(64,20000,device='cuda'); o=torch.empty(200_000,20000,device='cuda')
for tf in (False,True):
    torch.backends.cuda.matmul.allow_tf32=tf; ms=bench(lambda:torch.mm(a,b,out=o)); print('mm tf32',tf,'TFLOP/s',2*200_000*20000*64/ms/1e9, 'ms for all distinct pairs', ms*len(L.union())/20000)
